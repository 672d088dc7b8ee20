"""Counts words. Each task brings a text; the totals of all of them are the plugin's state, their picture its blob."""

import hashlib
import re
from collections import Counter
from html import escape

WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
# The rarest words of the totals are forgotten beyond so many.
KEPT = 2_000


class Plugin:
    def __init__(self, top=10, shortest=3):
        self.top = top
        self.shortest = shortest

    def run_batch(self, items, ctx):
        counted = [self.count(item) for item in items]
        totals = ctx.state.update("totals", lambda before: self.add(before, counted))
        ctx.blob.set("top.svg", chart(totals["words"][: self.top], totals), "image/svg+xml")
        for output, _ in counted:
            print("%(words)d words in %(lines)d lines" % output)
            yield output

    def count(self, item):
        text = str((item["extra"] or {}).get("text", item["pk"]))
        words = [word.lower() for word in WORD.findall(text)]
        frequent = Counter(word for word in words if len(word) >= self.shortest)
        output = {
            "words": len(words),
            "lines": len(text.splitlines()),
            "sha256": hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
            "top": frequent.most_common(self.top),
        }
        return output, frequent

    def add(self, before, counted):
        """New totals: the value is stored only over the one it was made of."""
        before = before or {"texts": 0, "total": 0, "words": []}
        words = Counter(dict(before["words"]))
        for _, frequent in counted:
            words.update(frequent)
        return {
            "texts": before["texts"] + len(counted),
            "total": before["total"] + sum(output["words"] for output, _ in counted),
            "words": words.most_common(KEPT),
        }


def chart(words, totals):
    """Bars of the most frequent words."""
    most = words[0][1] if words else 1
    bars = "".join(
        '<text x="112" y="%d" text-anchor="end">%s</text>'
        '<rect x="122" y="%d" width="%d" height="16" rx="3"/><text x="%d" y="%d">%d</text>'
        % (y + 13, escape(word[:14]), y, width, 130 + width, y + 13, n)
        for word, n, y, width in (
            (word, n, 44 + 26 * i, max(2, round(360 * n / most))) for i, (word, n) in enumerate(words)
        )
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 560 %d" font-family="sans-serif" '
        'font-size="13" fill="#2b5f8a"><text x="12" y="24" font-size="15">%d words in %d texts</text>%s</svg>'
        % (60 + 26 * len(words), totals["total"], totals["texts"], bars)
    )
