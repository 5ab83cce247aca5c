# How lit runs the tests of test/phases and test/cli. In RUN lines:
#   %orias      the program orias        %s, %S, %t   the test, its folder, a scratch name
#   %dis        the program orias-dis
#   %run        the program orias-run    %lab       the program orias-lab
#   %examples   the folder examples/     %status N    runs the rest of the line and fails unless it exits with N
import os

import lit.formats

config.name = "orias/" + config.suite
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".ori", ".test"]
config.test_source_root = os.path.join(config.source_dir, config.suite)
config.test_exec_root = os.path.join(config.build_dir, "lit", config.suite)
config.substitutions += [
    ("%orias", config.orias),
    ("%dis", config.orias + "-dis"),
    ("%run", config.orias + "-run"),
    ("%lab", config.orias + "-lab"),
    ("%examples", config.examples),
    ("%status", config.python + " " + os.path.join(config.source_dir, "cli", "status.py")),
]
# FileCheck and not stand next to each other.
config.environment["PATH"] = os.pathsep.join([os.path.dirname(config.filecheck), os.environ["PATH"]])
