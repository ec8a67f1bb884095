"""Small trees that keep or break one rule each, given to tools/check_layers.py."""

import os
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/check_layers.py")
sys.path.insert(0, os.path.dirname(TOOL))
import check_layers  # noqa: E402


class CheckLayers(unittest.TestCase):
    def check(self, files):
        """Breaches of a tree {path: text}; every folder of src/ gets its README."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                full = os.path.join(root, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w") as f:
                    f.write(text)
                readme = os.path.join(os.path.dirname(full), "README.md")
                if path.startswith("src/") and not path.startswith("src/ops/bare"):
                    open(readme, "a").close()
            return check_layers.check(root)[1]

    def test_tables_agree(self):
        floors = [room for floor in check_layers.FLOORS for room in floor]
        self.assertEqual(sorted(floors), sorted(check_layers.ROOMS))
        for room, below in check_layers.ROOMS.items():
            for other in below:  # strictly lower floors, so the rooms cannot form a circle
                self.assertLess(check_layers.floor_of(other), check_layers.floor_of(room))
        for room in check_layers.PUBLIC_HEADERS.values():
            self.assertIn(room, check_layers.ROOMS)

    def test_clean_tree(self):
        self.assertEqual(self.check({
            "include/trireme/error.h": "#include <string>\n",
            "src/base/error.h": '#include "trireme/error.h"\n',
            "src/ir/program.cc": '#include "base/error.h"\n#include <fmt/format.h>\n',
            "src/compiler/lower.cc": '#include "ir/program.h"\n',
            "src/ir/program.h": "",
            "apps/trireme/main.cc": '#include <trireme/error.h>\n#include <CLI/CLI.hpp>\n',
        }), [])

    def assert_breach(self, files, start, *words):
        breaches = self.check(files)
        self.assertEqual(len(breaches), 1, breaches)
        self.assertTrue(breaches[0].startswith(start), breaches)
        for word in words:
            self.assertIn(word, breaches[0])

    def test_upward_include(self):
        self.assert_breach({"src/ir/a.cc": '\n#include "compiler/b.h"\n', "src/compiler/b.h": ""},
                           "src/ir/a.cc:2:", "compiler/b.h", "ir may include base")

    def test_compiler_and_runtime_meet_in_plan_only(self):
        self.assert_breach({"src/runtime/a.cc": '#include "compiler/b.h"\n',
                            "src/compiler/b.h": ""}, "src/runtime/a.cc:1:")

    def test_public_header_of_a_higher_room(self):
        self.assert_breach({"src/ir/a.cc": '#include "trireme/session.h"\n',
                            "include/trireme/session.h": ""}, "src/ir/a.cc:1:", "session")

    def test_public_header_includes_upward(self):
        self.assert_breach({"include/trireme/program.h": '#include "trireme/trainer.h"\n',
                            "include/trireme/trainer.h": ""}, "include/trireme/program.h:1:")

    def test_public_header_without_a_room(self):
        self.assert_breach({"include/trireme/surprise.h": ""}, "include/trireme/surprise.h:1:",
                           "no room")

    def test_third_party_in_public_header(self):
        self.assert_breach({"include/trireme/data.h": "#include <png.h>\n"},
                           "include/trireme/data.h:1:", "public header")

    def test_third_party_in_the_wrong_room(self):
        self.assert_breach({"src/codegen/cache.cc": "#include <llvm/IR/Module.h>\n"},
                           "src/codegen/cache.cc:1:", "src/codegen/llvm")

    def test_unknown_third_party(self):
        self.assert_breach({"src/base/a.cc": "#include <boost/any.hpp>\n"}, "src/base/a.cc:1:",
                           "third-party table")

    def test_fmt_in_a_header(self):
        self.assert_breach({"src/base/a.h": "#include <fmt/format.h>\n"}, "src/base/a.h:1:")

    def test_gtest_only_in_tests(self):
        self.assert_breach({"src/base/a.cc": "#include <gtest/gtest.h>\n"}, "src/base/a.cc:1:")
        self.assertEqual(self.check({"src/base/a_test.cc": "#include <gtest/gtest.h>\n"}), [])

    def test_tests_see_their_floor_and_below(self):
        self.assertEqual(self.check({"src/ops/a_test.cc": '#include "codegen/b.h"\n',
                                     "src/codegen/b.h": ""}), [])
        self.assert_breach({"src/ops/a_test.cc": '#include "session/b.h"\n',
                            "src/session/b.h": ""}, "src/ops/a_test.cc:1:")

    def test_folders_of_a_room_have_an_order(self):
        self.assert_breach({"src/session/model/a.cc": '#include "session/train/b.h"\n',
                            "src/session/train/b.h": ""}, "src/session/model/a.cc:1:",
                           "session/model may include run, immediate, metrics, model")
        self.assertEqual(self.check({"src/session/train/a.cc": '#include "session/model/b.h"\n',
                                     "src/session/model/b.h": ""}), [])

    def test_helpers_of_tests_have_one_place(self):
        self.assert_breach({"src/ops/a_test.h": ""}, "src/ops/a_test.h:1:", "folder testing")
        self.assertEqual(self.check({"src/ops/testing/a.h": "#include <gtest/gtest.h>\n"}), [])

    def test_circle(self):
        self.assert_breach({"src/ir/a.h": '#include "ir/b.h"\n', "src/ir/b.h": '#include "ir/a.h"\n'},
                           "src/ir/b.h:1:", "src/ir/a.h -> src/ir/b.h -> src/ir/a.h")

    def test_apps_use_public_headers(self):
        self.assert_breach({"apps/trireme/main.cc": '#include "ir/program.h"\n',
                            "src/ir/program.h": ""}, "apps/trireme/main.cc:1:", "public headers")

    def test_unknown_room_and_missing_readme(self):
        self.assert_breach({"src/attic/a.cc": ""}, "src/attic:1:", "not in the table")
        self.assert_breach({"src/ops/bare/a.cc": ""}, "src/ops/bare:1:", "README")

    def test_rooms_with_threads_say_so(self):
        files = {"src/ir/a.cc": "#include <thread>\n", "src/ir/CMakeLists.txt": "trireme_room(ir)\n"}
        self.assert_breach(files, "src/ir/a.cc:1:", "thread", "does not say THREADS")
        files["src/ir/CMakeLists.txt"] = "trireme_room(ir THREADS)\n"
        self.assertEqual(self.check(files), [])

    def test_op_names_are_declared(self):
        files = {"src/ops/CMakeLists.txt": "set(TRIREME_OPS\n  add\n  mul\n)\n",
                 "src/compiler/a.cc": 'if (op.name() == "add") return;\n'}
        self.assert_breach(files, "src/compiler/a.cc:1:", "names the op add", "trait")
        files["src/compiler/a.cc"] = '// Names these ops: add,\n// mul\n\nf("add", "mul", "other");\n'
        self.assertEqual(self.check(files), [])
        files["src/compiler/a.cc"] = '// Names these ops: add, mul\n\nf("add");\n'
        self.assert_breach(files, "src/compiler/a.cc:1:", "mul, but does not")

    def test_op_names_elsewhere_are_free(self):
        ops = {"src/ops/CMakeLists.txt": "set(TRIREME_OPS\n  add\n)\n"}
        self.assertEqual(self.check({**ops, "src/nn/a.cc": 'f("add");\n',
                                     "src/ir/a_test.cc": 'f("add");\n',
                                     "src/ir/b.cc": '// "add"\n#include "ir/add.h"\n',
                                     "src/ir/add.h": ""}), [])

    def test_long_and_unfinished_files(self):
        self.assert_breach({"src/ir/a.cc": "\n" * 701}, "src/ir/a.cc:701:", "701 lines")
        self.assert_breach({"src/ir/a.cc": "// TO" "DO: later\n"}, "src/ir/a.cc:1:")

    def test_exit_status(self):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "src/base"))
            for text, status in (("", 0), ('#include "ir/x.h"\n', 1)):
                with open(os.path.join(root, "src/base/a.cc"), "w") as f:
                    f.write(text)
                open(os.path.join(root, "src/base/README.md"), "a").close()
                done = subprocess.run([sys.executable, TOOL, "--root", root], capture_output=True)
                self.assertEqual(done.returncode, status)


if __name__ == "__main__":
    unittest.main()
