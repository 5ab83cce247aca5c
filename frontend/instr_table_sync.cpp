#include "frontend/instr_table.h"

// Barriers, fences, mbarrier objects, and communication within a warp.

namespace orias::ptx {

namespace {

// clang-format off
constexpr Row kRows[] = {
    {"bar.sync",                                "a:u32(0..15), ?b:u32"},
    {"bar.arrive",                              "a:u32(0..15), b:u32"},
    {"bar.red.popc.u32",                        "=d:u32, a:u32(0..15), !c:pred / =d:u32, a:u32(0..15), b:u32, !c:pred"},
    {"bar.red.LOPOP.pred",                      "=p:pred, a:u32(0..15), !c:pred / =p:pred, a:u32(0..15), b:u32, !c:pred"},
    {"bar.warp.sync",                           "mask:b32",                            "6.0 sm_30"},
    {"barrier.sync{.aligned}",                  "a:u32(0..15), ?b:u32",                "6.0 sm_30"},
    {"barrier.arrive{.aligned}",                "a:u32(0..15), b:u32",                 "6.0 sm_30"},
    {"barrier.red.popc{.aligned}.u32",
     "=d:u32, a:u32(0..15), !c:pred / =d:u32, a:u32(0..15), b:u32, !c:pred",           "6.0 sm_30"},
    {"barrier.red.LOPOP{.aligned}.pred",
     "=p:pred, a:u32(0..15), !c:pred / =p:pred, a:u32(0..15), b:u32, !c:pred",         "6.0 sm_30"},
    {"barrier.cluster.arrive{.(release|relaxed)}{.aligned}", "-", "7.8 sm_90"},
    {"barrier.cluster.wait{.acquire}{.aligned}",             "-", "7.8 sm_90"},

    {"membar.(cta|gl|sys)",                     "-"},
    {"membar.proxy.alias",                      "-", "7.5 sm_60"},
    {"fence{.(sc|acq_rel)}.SCOPE",              "-", "6.0 sm_70"},
    {"fence.(acquire|release).SCOPE",           "-", "6.0 sm_70"},
    {"fence.acquire.sync_restrict::shared::cluster.cluster", "-", "8.6 sm_90"},
    {"fence.release.sync_restrict::shared::cta.cluster",     "-", "8.6 sm_90"},
    {"fence.mbarrier_init.release.cluster",     "-", "8.0 sm_90"},
    {"fence.proxy.alias",                       "-", "7.5 sm_70"},
    {"fence.proxy.async{.(global|shared::cta|shared::cluster)}", "-", "8.0 sm_90"},
    {"fence.proxy.tensormap::generic.release.SCOPE", "-", "8.3 sm_90"},
    {"fence.proxy.tensormap::generic.acquire.SCOPE", "[a:generic], #size:u32(128)", "8.3 sm_90"},
    {"fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster", "-", "8.6 sm_90"},
    {"fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",     "-", "8.6 sm_90"},

    {"mbarrier.init{.SHARED}.b64",              "[bar], count:u32",              "7.0 sm_80"},
    {"mbarrier.inval{.SHARED}.b64",             "[bar]",                         "7.0 sm_80"},
    {"mbarrier.arrive{.SHARED}.b64",            "=_state, [bar], ?count:u32",    "7.0 sm_80"},
    {"mbarrier.arrive.ARRIVESEM.CLUSTERSCOPE{.SHARED}.b64", "=_state, [bar], ?count:u32", "8.0 sm_80"},
    {"mbarrier.arrive.shared::cluster.b64",     "_, [bar], ?count:u32",          "8.0 sm_90"},
    {"mbarrier.arrive.ARRIVESEM.CLUSTERSCOPE.shared::cluster.b64", "_, [bar], ?count:u32", "8.0 sm_90"},
    {"mbarrier.arrive.expect_tx{.SHARED}.b64",  "=_state, [bar], tx:u32",        "8.0 sm_90"},
    {"mbarrier.arrive.expect_tx.ARRIVESEM.CLUSTERSCOPE{.SHARED}.b64", "=_state, [bar], tx:u32", "8.0 sm_90"},
    {"mbarrier.arrive.expect_tx.shared::cluster.b64", "_, [bar], tx:u32",        "8.0 sm_90"},
    {"mbarrier.arrive.expect_tx.ARRIVESEM.CLUSTERSCOPE.shared::cluster.b64", "_, [bar], tx:u32", "8.0 sm_90"},
    {"mbarrier.arrive.noComplete{.SHARED}.b64", "=_state, [bar], count:u32",     "7.0 sm_80"},
    {"mbarrier.arrive.noComplete.release.cta{.SHARED}.b64", "=_state, [bar], count:u32", "8.0 sm_80"},
    {"mbarrier.arrive_drop{.SHARED}.b64",       "=_state, [bar], ?count:u32",    "7.0 sm_80"},
    {"mbarrier.arrive_drop.ARRIVESEM.CLUSTERSCOPE{.SHARED}.b64", "=_state, [bar], ?count:u32", "8.0 sm_80"},
    {"mbarrier.arrive_drop.shared::cluster.b64", "_, [bar], ?count:u32",         "8.0 sm_90"},
    {"mbarrier.arrive_drop.ARRIVESEM.CLUSTERSCOPE.shared::cluster.b64", "_, [bar], ?count:u32", "8.0 sm_90"},
    {"mbarrier.arrive_drop.expect_tx{.SHARED}.b64", "=_state, [bar], tx:u32",    "8.0 sm_90"},
    {"mbarrier.arrive_drop.expect_tx.ARRIVESEM.CLUSTERSCOPE{.SHARED}.b64", "=_state, [bar], tx:u32", "8.0 sm_90"},
    {"mbarrier.arrive_drop.expect_tx.shared::cluster.b64", "_, [bar], tx:u32",   "8.0 sm_90"},
    {"mbarrier.arrive_drop.expect_tx.ARRIVESEM.CLUSTERSCOPE.shared::cluster.b64", "_, [bar], tx:u32", "8.0 sm_90"},
    {"mbarrier.arrive_drop.noComplete{.SHARED}.b64", "=_state, [bar], count:u32", "7.0 sm_80"},
    {"mbarrier.arrive_drop.noComplete.release.cta{.SHARED}.b64", "=_state, [bar], count:u32", "8.0 sm_80"},
    {"mbarrier.expect_tx{.SHAREDANY}.b64",                        "[bar], tx:u32", "8.0 sm_90"},
    {"mbarrier.expect_tx.relaxed.CLUSTERSCOPE{.SHAREDANY}.b64",   "[bar], tx:u32", "8.0 sm_90"},
    {"mbarrier.complete_tx{.SHAREDANY}.b64",                      "[bar], tx:u32", "8.0 sm_90"},
    {"mbarrier.complete_tx.relaxed.CLUSTERSCOPE{.SHAREDANY}.b64", "[bar], tx:u32", "8.0 sm_90"},
    {"mbarrier.test_wait{.SHARED}.b64",         "=p:pred, [bar], $state",        "7.0 sm_80"},
    {"mbarrier.test_wait.WAITSEM.CLUSTERSCOPE{.SHARED}.b64", "=p:pred, [bar], $state", "8.0 sm_80"},
    {"mbarrier.test_wait.parity{.SHARED}.b64",  "=p:pred, [bar], parity:u32(0..1)",    "7.1 sm_80"},
    {"mbarrier.test_wait.parity.WAITSEM.CLUSTERSCOPE{.SHARED}.b64", "=p:pred, [bar], parity:u32(0..1)", "8.0 sm_80"},
    {"mbarrier.try_wait{.SHARED}.b64",          "=p:pred, [bar], $state, ?hint:u32",     "7.8 sm_90"},
    {"mbarrier.try_wait.WAITSEM.CLUSTERSCOPE{.SHARED}.b64", "=p:pred, [bar], $state, ?hint:u32", "8.0 sm_90"},
    {"mbarrier.try_wait.parity{.SHARED}.b64",   "=p:pred, [bar], parity:u32(0..1), ?hint:u32", "7.8 sm_90"},
    {"mbarrier.try_wait.parity.WAITSEM.CLUSTERSCOPE{.SHARED}.b64", "=p:pred, [bar], parity:u32(0..1), ?hint:u32", "8.0 sm_90"},
    {"mbarrier.pending_count.b64",              "=d:u32, $state:b64",            "7.0 sm_80"},

    {"vote{.sync}.(all|any|uni).pred",          "=p:pred, !a:pred, mask:b32@sync"},
    {"vote{.sync}.ballot.b32",                  "=d, !a:pred, mask:b32@sync"},
    {"match.any.sync.(b32|b64)",                "=d:b32, a, mask:b32",       "6.0 sm_70"},
    {"match.all.sync.(b32|b64)",                "=d{|p}:b32, a, mask:b32",   "6.0 sm_70"},
    {"activemask.b32",                          "=d",                        "6.2 sm_30"},
    {"redux.sync.(add|min|max).(u32|s32)",      "=d, a, mask:b32",           "7.0 sm_80"},
    {"redux.sync.(and|or|xor).b32",             "=d, a, mask:b32",           "7.0 sm_80"},
    {"redux.sync.(min|max){.abs}{.NaN}.f32",    "=d, a, mask:b32",           "8.6 sm_100a"},
    {"elect.sync",                              "=d|p:b32, mask:b32",        "8.0 sm_90"},
    {"griddepcontrol.(launch_dependents|wait)", "-",                         "7.8 sm_90"},

    {"clusterlaunchcontrol.try_cancel.async{.shared::cta}.mbarrier::complete_tx::bytes{.multicast::cluster::all}.b128",
     "[a], [bar]", "8.6 sm_100"},
    {"clusterlaunchcontrol.query_cancel.is_canceled.pred.b128",            "=p:pred, $a:b128",   "8.6 sm_100"},
    {"clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128",      "=d*4, $a:b128",      "8.6 sm_100"},
    {"clusterlaunchcontrol.query_cancel.(get_first_ctaid::x|get_first_ctaid::y|get_first_ctaid::z).b32.b128",
     "=d, $a:b128", "8.6 sm_100"},
};
// clang-format on

} // namespace

std::span<const Row> syncRows() {
  return kRows;
}

} // namespace orias::ptx
