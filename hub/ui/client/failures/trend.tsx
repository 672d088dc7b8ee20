import { countText } from "../lib/units.ts";

/** How often in each part of the time, the oldest first; a part without any is a dash. */
export function Trend({ counts }: { counts: readonly number[] }) {
  const most = Math.max(1, ...counts);
  const sum = counts.reduce((all, n) => all + n, 0);
  return (
    <svg
      className="trend"
      viewBox={`0 0 ${counts.length * 4} 20`}
      role="img"
      aria-label={`${countText(sum)} in all, at most ${countText(most)} at a time`}
      preserveAspectRatio="none"
    >
      {counts.map((n, i) => {
        const height = n === 0 ? 1 : Math.max(2, (18 * n) / most);
        return (
          <rect
            // biome-ignore lint/suspicious/noArrayIndexKey: a part of the time has no other name
            key={i}
            data-none={n === 0 || undefined}
            x={i * 4}
            y={20 - height}
            width="3"
            height={height}
          />
        );
      })}
    </svg>
  );
}
