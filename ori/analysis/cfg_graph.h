#pragma once

// Makes a Cfg a model of Boost.Graph's bidirectional, vertex-list and incidence graph concepts. Boost.Graph is heavy:
// only .cpp files include this.

#include "ori/analysis/cfg.h"

#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>
#include <boost/iterator/counting_iterator.hpp>
#include <boost/iterator/transform_iterator.hpp>
#include <boost/property_map/property_map.hpp>

#include <utility>

namespace orias::ori {

/// The vertices are all block ids, including those of erased blocks, which have no edges.
struct CfgGraph {
  const Cfg* cfg;
};

struct CfgEdge {
  BlockId from = kNoId;
  BlockId to = kNoId;
  friend bool operator==(const CfgEdge&, const CfgEdge&) = default;
};

struct MakeOutEdge {
  BlockId from = kNoId;
  CfgEdge operator()(BlockId to) const { return {from, to}; }
};
struct MakeInEdge {
  BlockId to = kNoId;
  CfgEdge operator()(BlockId from) const { return {from, to}; }
};

struct CfgTraversal : boost::bidirectional_graph_tag, boost::vertex_list_graph_tag {};

} // namespace orias::ori

namespace boost {

template <> struct graph_traits<orias::ori::CfgGraph> {
  using vertex_descriptor = orias::ori::BlockId;
  using edge_descriptor = orias::ori::CfgEdge;
  using directed_category = bidirectional_tag;
  using edge_parallel_category = disallow_parallel_edge_tag;
  using traversal_category = orias::ori::CfgTraversal;
  using vertices_size_type = std::size_t;
  using edges_size_type = std::size_t;
  using degree_size_type = std::size_t;
  using vertex_iterator = counting_iterator<orias::ori::BlockId>;
  using out_edge_iterator = transform_iterator<orias::ori::MakeOutEdge, const orias::ori::BlockId*>;
  using in_edge_iterator = transform_iterator<orias::ori::MakeInEdge, const orias::ori::BlockId*>;
  static vertex_descriptor null_vertex() { return orias::ori::kNoId; }
};

template <> struct property_map<orias::ori::CfgGraph, vertex_index_t> {
  using type = typed_identity_property_map<orias::ori::BlockId>;
  using const_type = type;
};

} // namespace boost

namespace orias::ori {

using CfgTraits = boost::graph_traits<CfgGraph>;

inline std::pair<CfgTraits::vertex_iterator, CfgTraits::vertex_iterator> vertices(const CfgGraph& g) {
  return {CfgTraits::vertex_iterator(0), CfgTraits::vertex_iterator(g.cfg->idCount())};
}
inline std::size_t num_vertices(const CfgGraph& g) {
  return g.cfg->idCount();
}

inline std::pair<CfgTraits::out_edge_iterator, CfgTraits::out_edge_iterator> out_edges(BlockId from,
                                                                                       const CfgGraph& g) {
  const auto to = g.cfg->successors(from);
  return {{to.data(), MakeOutEdge{from}}, {to.data() + to.size(), MakeOutEdge{from}}};
}
inline std::size_t out_degree(BlockId from, const CfgGraph& g) {
  return g.cfg->successors(from).size();
}

inline std::pair<CfgTraits::in_edge_iterator, CfgTraits::in_edge_iterator> in_edges(BlockId to, const CfgGraph& g) {
  const auto from = g.cfg->predecessors(to);
  return {{from.data(), MakeInEdge{to}}, {from.data() + from.size(), MakeInEdge{to}}};
}
inline std::size_t in_degree(BlockId to, const CfgGraph& g) {
  return g.cfg->predecessors(to).size();
}
inline std::size_t degree(BlockId id, const CfgGraph& g) {
  return out_degree(id, g) + in_degree(id, g);
}

inline BlockId source(const CfgEdge& edge, const CfgGraph&) {
  return edge.from;
}
inline BlockId target(const CfgEdge& edge, const CfgGraph&) {
  return edge.to;
}

inline boost::typed_identity_property_map<BlockId> get(boost::vertex_index_t, const CfgGraph&) {
  return {};
}

} // namespace orias::ori
