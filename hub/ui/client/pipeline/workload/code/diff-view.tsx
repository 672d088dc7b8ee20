import { ScrollArea, Text } from "@mantine/core";
import { structuredPatch } from "diff";

/** Lines of a comparison: more would take the browser seconds to find. */
const MOST_MS = 500;

/** What was changed between two texts, line by line. */
export function DiffView({ before, after }: { before: string; after: string }) {
  const patch = structuredPatch("a", "b", before, after, "", "", {
    context: 3,
    timeout: MOST_MS,
  });
  if (!patch) return <Text size="sm">They differ too much to be compared here.</Text>;
  if (patch.hunks.length === 0) return <Text size="sm">The two are the same.</Text>;
  return (
    <ScrollArea.Autosize mah="60dvh" viewportProps={{ tabIndex: 0, "aria-label": "Changes" }}>
      <pre className="diff">
        {patch.hunks.map((hunk) => (
          <div key={`${hunk.oldStart}-${hunk.newStart}`}>
            <div className="diff-place">
              lines {hunk.newStart} to {hunk.newStart + Math.max(hunk.newLines - 1, 0)}
            </div>
            {hunk.lines.map((line, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines of a text have no other identity
              <div key={i} data-kind={line[0] === "+" ? "added" : line[0] === "-" ? "gone" : ""}>
                {line}
              </div>
            ))}
          </div>
        ))}
      </pre>
    </ScrollArea.Autosize>
  );
}
