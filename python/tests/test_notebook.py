"""What notebooks show."""

import importlib.util
import unittest
from html.parser import HTMLParser

import numpy as np

import trireme as tr


class Tables(HTMLParser):
    """The cells of all tables, row by row; checks that each element is closed."""

    def __init__(self, html):
        super().__init__()
        self.rows, self.open = [], []
        self.feed(html)
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def model():
    x = tr.Input((3,), name="x")
    made = tr.Model(x, tr.nn.linear(x, 1000, name="wide"))
    made.compile("sgd", "mse")
    return made


class Html(unittest.TestCase):
    def test_summaries(self):
        summary = model().summary()
        self.assertIsInstance(summary, str)
        self.assertEqual(Tables(summary._repr_html_()).rows[1],
                         ["wide", "4,000", "weight [3, 1000], bias [1000]"])
        self.assertEqual(model()._repr_html_(), summary._repr_html_())

    def test_programs_and_values(self):
        program = tr.Program("p")
        x = program.input("x", tr.f32, ("batch", 3))
        program.set_outputs([tr.nn.linear(x, 2, name="a")])
        html = program._repr_html_()
        rows = Tables(html).rows
        self.assertEqual(rows[1], ["input", "x", "f32", "['batch', 3]"])
        self.assertIn(["parameter", "a.weight", "f32", "[3, 2]"], rows)
        self.assertIn("matmul", html)
        self.assertIn("%x", x._repr_html_())
        self.assertIn("f32", x._repr_html_())

    def test_arrays_show_their_numbers(self):
        self.assertIn("42.5", tr.array([42.5])._repr_html_())

    def test_histories(self):
        x = np.ones((8, 3), "f4")
        history = model().fit(x, np.ones((8, 1000), "f4"), epochs=2, progress=False,
                              validation_data=(x, np.ones((8, 1000), "f4")))
        rows = Tables(history._repr_html_()).rows
        self.assertEqual(rows[0], ["epoch", "loss", "val_loss"])
        self.assertEqual([row[0] for row in rows[1:]], ["1", "2"])
        self.assertAlmostEqual(float(rows[2][2]), history["val_loss"][1], 3)
        self.assertEqual(Tables(tr.History()._repr_html_()).rows, [["epoch"]])

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "matplotlib is not installed")
    def test_histories_have_plots(self):
        import matplotlib

        matplotlib.use("Agg")
        x, y = np.ones((8, 3), "f4"), np.ones((8, 1000), "f4")
        history = model().fit(x, y, epochs=3, progress=False, validation_data=(x, y))
        figure = history.plot()
        self.assertEqual([axis.get_title() for axis in figure.axes], ["loss"])
        for line, name in zip(figure.axes[0].lines, ("loss", "val_loss"), strict=True):
            self.assertEqual(list(line.get_xdata()), [1, 2, 3])
            self.assertEqual(list(line.get_ydata()), history[name])

    @unittest.skipUnless(importlib.util.find_spec("nbclient") and
                         importlib.util.find_spec("ipykernel"), "nbclient is not installed")
    def test_a_notebook_has_one_line_of_progress(self):
        import nbformat
        from nbclient import NotebookClient

        code = ["import numpy as np\nimport trireme as tr\nx = tr.Input((3,), name='x')\n"
                "model = tr.Model(x, tr.nn.linear(x, 1))\nmodel.compile('sgd', 'mse')\n"
                "history = model.fit(np.ones((8, 3)), np.ones((8, 1)), epochs=3)",
                "history", "model", "tr.array([1.5])"]
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in code])
        NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
        fit, *shown = [cell.outputs for cell in notebook.cells]
        self.assertEqual([output.output_type for output in fit], ["display_data"])
        self.assertRegex(fit[0].data["text/plain"], r"^epoch 3/3  loss [0-9.e-]+  [0-9.]+ s$")
        for output in shown:
            self.assertIn("<", output[0].data["text/html"])


if __name__ == "__main__":
    unittest.main()
