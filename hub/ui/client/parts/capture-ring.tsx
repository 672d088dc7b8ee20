import type { Look } from "./status/look.ts";

interface CaptureRingProps {
  /** Bodies that are whole, of those there were. */
  whole: number;
  of: number;
  /** More may come. */
  running?: boolean;
  /** Only the ring; its text is its title. */
  bare?: boolean;
}

const RADIUS = 6;
const ROUND = 2 * Math.PI * RADIUS;

function ringOf({ whole, of, running }: CaptureRingProps): { tone: Look["tone"]; text: string } {
  if (running) return { tone: "live", text: `${whole} so far` };
  if (of === 0) return { tone: "idle", text: "–" };
  return { tone: whole === of ? "ok" : "warn", text: `${whole} of ${of}` };
}

/** How much of a capture is whole: full and green when all of it is, dashed where there was nothing. */
export function CaptureRing(props: CaptureRingProps) {
  const { whole, of, running = false, bare = false } = props;
  const { tone, text } = ringOf(props);
  const share = running ? 0.4 : of === 0 ? 0 : whole / of;
  const said = of === 0 && !running ? "No files" : `${text} files whole`;
  return (
    <span className="capture-ring" title={said}>
      <svg viewBox="0 0 16 16" role="img" aria-label={said}>
        {of === 0 && !running ? (
          <circle className="none" cx="8" cy="8" r={RADIUS} />
        ) : (
          <>
            <circle className="ground" cx="8" cy="8" r={RADIUS} />
            <circle
              className="share"
              data-tone={tone}
              cx="8"
              cy="8"
              r={RADIUS}
              strokeDasharray={`${ROUND * share} ${ROUND}`}
              transform="rotate(-90 8 8)"
            />
          </>
        )}
      </svg>
      {!bare && <span aria-hidden>{text}</span>}
    </span>
  );
}
