#!/usr/bin/env python3
"""The cells as one SVG: a row for each, time over the cell's limit on a logarithmic axis. Filled marks were measured in the run,
hollow ones were published.

  plot.py RESULT.json FILE.svg"""

import json
import math
import pathlib
import sys
from xml.sax.saxutils import escape

ROW, LEFT, WIDTH, TOP, PANEL_GAP = 18, 190, 620, 118, 50
SERIES = {  # name: (title, colour)
    "tik": ("TIK", "#c0392b"),
    "cudnn": ("cuDNN", "#2471a3"),
    "flash_attention_2": ("FlashAttention-2", "#7d8a97"),
    "flash_attention_3": ("FlashAttention-3", "#1e8449"),
    "flashinfer": ("FlashInfer", "#9a7d0a"),
    "areal_tik": ("AReaL-TIK", "#8e44ad"),
}


def figures_of(result):
    return {"tik": result["tik_us"], **result["peers"], **result["published"]}


def mark(x, y, colour, filled, size=5):
    fill = colour if filled else "white"
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="{fill}" stroke="{colour}" stroke-width="1.5"/>'


def text(x, y, content, anchor="start", size=12, colour="#222", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}" '
            f'font-weight="{weight}">{escape(content)}</text>')


def draw(results, machine):
    largest = max(value / r["limit_us"] for r in results for value in figures_of(r).values())
    decades = math.log10(largest * 1.1)

    def at(ratio):
        return LEFT + WIDTH * math.log10(max(ratio, 1.0)) / decades

    groups = {}
    for result in results:
        heads = f"{result['q_heads']}/{result['kv_heads']} heads x {result['head_dim']}"
        titles = {"full": "full sequence, causal, batch 1", "extend": "extend, query tokens at the end of all tokens x batch",
                  "decode": "decode, one token a sequence"}
        groups.setdefault(f"{titles[result['entry']]}, {heads}", []).append(result)
    parts = []
    y = TOP
    for title, group in groups.items():
        parts.append(text(LEFT, y - 10, title, weight="bold"))
        bottom = y + ROW * len(group)
        for tick in (1, 1.5, 2, 3, 5, 10, 20, 50):
            if tick <= largest * 1.1:
                parts.append(f'<line x1="{at(tick):.1f}" y1="{y}" x2="{at(tick):.1f}" y2="{bottom}" stroke="#ddd"/>')
                parts.append(text(at(tick), bottom + 14, f"{tick:g}x", "middle", 10, "#666"))
        for result in group:
            middle = y + ROW / 2
            name = f"{result['tokens']}" + (f" x {result['batch']}" if result["entry"] != "full" else "")
            if result["entry"] == "extend":
                name = f"{result['query_tokens']} of {name}"
            parts.append(text(LEFT - 8, middle + 4, f"{name}   limit {result['limit_us']:.1f} us", "end", 11))
            if result["entry"] == "decode":
                goal = at((1.05 * result["limit_us"] + 2) / result["limit_us"])
                parts.append(f'<line x1="{goal:.1f}" y1="{y + 2}" x2="{goal:.1f}" y2="{y + ROW - 2}" stroke="#c0392b" '
                             f'stroke-dasharray="3 2"/>')
            for series, figure in reversed(figures_of(result).items()):
                parts.append(mark(at(figure / result["limit_us"]), middle, SERIES[series][1], series not in result["published"]))
            y += ROW
        y = bottom + PANEL_GAP
    legend = []
    x = LEFT - 170
    for title, colour in SERIES.values():
        legend += [mark(x, 52, colour, True), text(x + 10, 56, title, size=11)]
        x += 32 + 6.6 * len(title)
    height, width = y, LEFT + WIDTH + 40
    head = [text(20, 28, f"Unified attention on {machine['gpu']}: time over the limit of the cell", size=16, weight="bold"),
            text(20, 76, "Limit: reading the keys and values (decode), tensor-core rate (full sequence), both measured in the run. "
                 "Dashes: 1.05 x limit + 2 us. Hollow: published, not measured in the run.", size=11, colour="#555")]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif">'
            f'<rect width="100%" height="100%" fill="white"/>{"".join(head + legend + parts)}</svg>\n')


if __name__ == "__main__":
    run = json.loads(pathlib.Path(sys.argv[1]).read_text())
    pathlib.Path(sys.argv[2]).write_text(draw(run["cells"], run["machine"]))
