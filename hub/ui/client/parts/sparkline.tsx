/** The last runs, newest at the right: a tall mark for each that succeeded, a short red one for each that did not. */
export function Sparkline({ runs, label }: { runs: readonly boolean[]; label: string }) {
  const slots = 20;
  const first = slots - runs.length;
  return (
    <svg
      className="sparkline"
      viewBox="0 0 100 20"
      role="img"
      aria-label={label}
      preserveAspectRatio="none"
    >
      {runs.map((ok, i) => (
        <rect
          // biome-ignore lint/suspicious/noArrayIndexKey: a run has no other name here
          key={i}
          x={(first + i) * 5}
          y={ok ? 2 : 10}
          width="4"
          height={ok ? 16 : 8}
          rx="1"
          className={ok ? "ok" : "bad"}
        />
      ))}
    </svg>
  );
}
