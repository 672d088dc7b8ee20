/** The text format 0.0.4 of Prometheus, in as much of it as a worker tells. */

export type Labels = Readonly<Record<string, string | number | undefined>>;

const escapedHelp = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
const escapedLabel = (text: string): string => escapedHelp(text).replaceAll('"', '\\"');

/** The labels of a series, which are also its key: `{a="1",b="2"}`, or nothing. */
export function labelText(names: readonly string[], labels: Labels): string {
  if (names.length === 0) return "";
  const all = names.map((name) => `${name}="${escapedLabel(String(labels[name] ?? ""))}"`);
  return `{${all.join(",")}}`;
}

/** One more label at the end of those that `labelText` wrote. */
export const withLabel = (text: string, name: string, value: string): string =>
  `${text === "" ? "{" : `${text.slice(0, -1)},`}${name}="${value}"}`;

const numberText = (value: number): string => {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  return value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value);
};

/** One number: its name with what follows it, its labels, its value. */
export type Sample = readonly [suffix: string, labels: string, value: number];

/** A metric with all its series; nothing for one that has none. */
export function familyText(
  name: string,
  type: "counter" | "gauge" | "histogram" | "summary",
  help: string,
  samples: readonly Sample[],
): string {
  if (samples.length === 0) return "";
  const lines = samples.map(
    ([suffix, labels, value]) => `${name}${suffix}${labels} ${numberText(value)}\n`,
  );
  return `# HELP ${name} ${escapedHelp(help)}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}
