"""Pairs of sources that can be compiled as one, and pairs that cannot, given to
tools/unity_groups.py."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools"))
import unity_groups  # noqa: E402


def source(own, space="trireme::nn"):
    return "namespace %s {\nnamespace {\n\n%s\n\n}  // namespace\n}  // namespace %s\n" % (space, own, space)


class UnityGroups(unittest.TestCase):
    def setUp(self):
        self.declared = unity_groups.declared
        headers = "namespace trireme {\nint size_of(DType type);\nstruct Shape {\n  int rank;\n};\n}  // namespace trireme\n"
        unity_groups.declared = lambda: unity_groups.definitions(headers, False)

    def tearDown(self):
        unity_groups.declared = self.declared

    def together(self, one, other, **how):
        return unity_groups.groups([source(one), source(other, **how)], 10) == [1, 1]

    def test_files_that_share_no_name(self):
        self.assertTrue(self.together("int depth(const Block& block) {\n  return 1;\n}", "constexpr int kDepth = 3;"))

    def test_the_same_name_twice(self):
        self.assertFalse(self.together("constexpr int kDepth = 3;", "constexpr std::int64_t kDepth = 4;"))
        self.assertFalse(self.together("struct Case {\n  int a;\n};", "class Case {};"))
        self.assertFalse(self.together("const char* const kNames[] = {\"a\"};", "std::string kNames;"))
        self.assertFalse(self.together("template <typename T>\nvoid add(T* to) {\n}", "template <typename T>\nvoid add(T* sum) {\n}"))

    def test_functions_of_other_parameters(self):
        self.assertTrue(self.together("int count(const Block& b) {", "int count(const Block& b, int most) {"))
        self.assertTrue(self.together("int count(const Block& b) {", "int count(const ir::Op& op) {"))
        self.assertFalse(self.together("int count(const Block& b) {", "int count(const ir::Block& b) {"))
        self.assertFalse(self.together("int count(const Ids& ids) {", "int count(const std::vector<int>& ids) {"))
        self.assertFalse(self.together("int count(double x) {", "int count(int x) {"))
        self.assertFalse(self.together("int count(const Block& b) {", "int count(const Block& block,\n          int most = 3);\n"
                                       "int count(const Block& of) {"))

    def test_the_same_alias(self):
        self.assertTrue(self.together("using Ids = std::vector<int>;", "using Ids = std::vector<int>;"))
        self.assertFalse(self.together("using Ids = std::vector<int>;", "using Ids = std::vector<long>;"))

    def test_namespaces_keep_names_apart(self):
        self.assertTrue(self.together("constexpr int kDepth = 3;", "constexpr int kDepth = 4;", space="trireme::data"))

    def test_what_a_header_declares_is_hidden_from_others(self):
        self.assertFalse(self.together("int size_of(int bytes) {", "int other;"))
        self.assertFalse(self.together("struct Shape {\n};", "int other;"))

    def test_macros_are_seen_by_others(self):
        self.assertEqual(unity_groups.groups(["#define SIZE 3\n" + source("int a;"), source("int b;"), source("int c;")], 10),
                         [0, 1, 1])

    def test_groups_are_full(self):
        texts = [source("int name%d;" % number) for number in range(5)]
        self.assertEqual(unity_groups.groups(texts, 2), [1, 1, 2, 2, 0])

    def test_those_of_this_project(self):
        unity_groups.declared = self.declared
        self.assertIn(("trireme::distributed", "Entry"), unity_groups.declared())


if __name__ == "__main__":
    unittest.main()
