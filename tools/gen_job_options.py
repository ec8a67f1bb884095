#!/usr/bin/env python3
"""Makes docs/reference/job-options.md from the catalog.

    trireme catalog | tools/gen_job_options.py > docs/reference/job-options.md
    trireme catalog | tools/gen_job_options.py --check docs/reference/job-options.md
"""

import argparse
import json
import sys

KINDS = [("layers", "Layers"), ("losses", "Losses"), ("optimizers", "Optimizers"),
         ("schedules", "Schedules"), ("averages", "Averages"), ("models", "Models"),
         ("metrics", "Metrics"), ("sources", "Data tables"), ("augmentations", "Augmentations")]


def default_of(option):
    if option.get("required"):
        return option["default_text"] + "; else required" if "default_text" in option else "required"
    if "default_text" in option:
        return option["default_text"]
    value = option["default"]
    if value is None or value == "":
        return "none"
    return f"`{json.dumps(value)}`"


def limits_of(option):
    parts = []
    if "min" in option:
        parts.append(f"at least {option['min']}")
    if "above" in option:
        parts.append(f"above {option['above']}")
    if "max" in option and option["max"] not in (2 ** 20, 2 ** 31 - 1):
        parts.append(f"at most {option['max']}")
    if "below" in option:
        parts.append(f"below {option['below']}")
    return ", ".join(parts)


def type_of(option):
    if "choices" in option:
        return "one of " + ", ".join(f'`"{c}"`' for c in option["choices"])
    text = option["type"] + (f", {option['unit']}" if "unit" in option else "")
    limits = limits_of(option)
    return text + (f", {limits}" if limits else "")


def options_table(options):
    lines = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for o in options:
        lines.append(f"| `{o['name']}` | {type_of(o)} | {default_of(o)} | {o['doc']} |")
    return lines


def families(entries):
    """Neighbors that differ only by their names, such as vgg11 and vgg13, with all names."""
    found = []
    for entry in entries:
        if found and entry["options"] and found[-1][1]["options"] == entry["options"]:
            if found[-1][1].get("doc") == entry.get("doc"):
                found[-1][0].append(entry["name"])
                continue
        found.append(([entry["name"]], entry))
    return [(", ".join(names), entry) for names, entry in found]


def page(catalog):
    lines = ["# Options of job files", "",
             "All keys of a [job file](job.md) below its tables: layers, losses, optimizers, schedules,",
             "averages, models, metrics, data sets and augmentations.",
             "This page is made from `trireme catalog` by `tools/gen_job_options.py`; do not edit it.", "",
             "The types are those of the [catalog](formats/catalog.md).",
             "Sizes are at most 1,048,576.", ""]
    for key, title in KINDS:
        lines += [f"## {title}", ""]
        plain = [e for e in catalog[key] if not e["options"]]
        if key == "layers":
            plain = [e for e in plain if e["name"] not in catalog["activations"]]
        for names, entry in families(catalog[key]):
            if not entry["options"]:
                continue
            doc = entry.get("doc") or f"Target: {entry['target']}; prediction: {entry['prediction']}"
            lines += [f"### {names}", "", doc + ".", ""]
            if entry.get("joins"):
                lines[-2] += "\nTakes several `inputs`."
            lines += options_table(entry["options"]) + [""]
        if plain:
            lines += ["Without options:", "", "| name | meaning |", "|---|---|"]
            for e in plain:
                doc = e.get("doc") or f"target: {e['target']}; prediction: {e['prediction']}"
                doc += "; takes several `inputs`" if e.get("joins") else ""
                lines.append(f"| `{e['name']}` | {doc} |")
            lines.append("")
        if key == "sources":
            lines += texts(catalog["texts"])
            lines += choices_of_examples(catalog["tables"])
        if key == "layers":
            names = ", ".join(f"`{name}`" for name in catalog["activations"])
            lines += ["Activations are layers too:"] + wrapped(names) + [""]
    return "\n".join(lines).rstrip() + "\n"


def texts(tables):
    return ["### text", "", "How texts become ids and examples, a key of `data`.",
            "The corpus decides which keys it may have: see [texts](job.md#texts).", ""
            ] + options_table(tables["text"]) + [
                "", "### skip_grams", "", "A key of `text`.", ""
            ] + options_table(tables["skip_grams"]) + [""]


def choices_of_examples(tables):
    return ["### filter", "", "Which examples to keep, a key of `data`: a table or a list of them.", ""
            ] + options_table(tables["filter"]) + [
                "", "### sample", "", "Training examples drawn with replacement, a key of `data`.", ""
            ] + options_table(tables["sample"]) + [""]


def wrapped(text, width=100):
    lines, line = [], ""
    for word in text.split(" "):
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return lines + [line + "."]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", metavar="FILE", help="compare with FILE instead of printing")
    arguments = parser.parse_args()
    text = page(json.load(sys.stdin))
    if not arguments.check:
        sys.stdout.write(text)
        return 0
    with open(arguments.check, encoding="utf-8") as file:
        if file.read() == text:
            return 0
    print(f"{arguments.check} is not what the catalog says; make it again:\n"
          "  trireme catalog | tools/gen_job_options.py > " + arguments.check)
    return 1


if __name__ == "__main__":
    sys.exit(main())
