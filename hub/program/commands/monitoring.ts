import alerts from "../../../scripts/monitoring/flotilla-alerts.yml" with { type: "text" };
import dashboard from "../../../scripts/monitoring/flotilla-dashboard.json";
import { EXIT, UsageError } from "../cli/exit.ts";
import type { Terminal } from "../cli/print.ts";

/** What is printed for people's own Prometheus and Grafana (rules/metrics#alerts-and-dashboard). */
const FILES: Readonly<Record<string, () => string>> = {
  alerts: () => alerts,
  dashboard: () => `${JSON.stringify(dashboard, null, 2)}\n`,
};

/** `flotilla monitoring alerts|dashboard`. @throws UsageError for any other word */
export async function runMonitoring(
  words: readonly string[],
  { terminal }: { terminal: Pick<Terminal, "out"> },
): Promise<number> {
  const [what = "", ...more] = words;
  const file = Object.hasOwn(FILES, what) ? FILES[what] : undefined;
  if (!file || more.length > 0) throw new UsageError("monitoring: alerts or dashboard?");
  terminal.out(file());
  return EXIT.ok;
}
