import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EXIT, UsageError } from "#hub/program/cli/exit.ts";
import { runMonitoring } from "#hub/program/commands/monitoring.ts";
import { promtool } from "#test/support/clients/promtool.ts";
import { ALERT_CASES, type AlertCase, MINUTES } from "#test/support/models/alert-cases.ts";

/** Alerts and dashboard as people load them, judged by Prometheus' own tool (rules/metrics#alerts-and-dashboard). */

/** The variable of the dashboard that says which Prometheus is asked. */
const SOURCE = "$" + "{datasource}";

interface Rule {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; description: string };
}

const printed = async (word: string): Promise<string> => {
  const texts: string[] = [];
  const terminal = { out: (text: string) => void texts.push(text) };
  expect(await runMonitoring([word], { terminal })).toBe(EXIT.ok);
  return texts.join("");
};
const rulesOf = (text: string): Rule[] =>
  (Bun.YAML.parse(text) as { groups: { rules: Rule[] }[] }).groups.flatMap(({ rules }) => rules);

let dir: string;
let rules: Rule[];
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-monitoring-"));
  const alerts = await printed("alerts");
  await Bun.write(join(dir, "alerts.yml"), alerts);
  rules = rulesOf(alerts);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** What Prometheus makes of a text with labels in it. */
const filled = (text: string, labels: Readonly<Record<string, string>>): string =>
  text.replace(/\{\{ \$labels\.(\w+) \}\}/g, (_, name) => labels[name] ?? "");

const seriesOf = (series: AlertCase["fires"]) =>
  Object.entries(series).map(([name, values]) => ({ series: name, values }));

const testOf = (rule: Rule, series: AlertCase["fires"], expected: object[]) => ({
  interval: "1m",
  input_series: seriesOf(series),
  alert_rule_test: [{ eval_time: `${MINUTES}m`, alertname: rule.alert, exp_alerts: expected }],
});

test("Prometheus takes the alert rules, and each names what to do (rules/metrics#alerts-and-dashboard)", async () => {
  const { code, said } = await promtool(["check", "rules", "alerts.yml"], "", dir);
  expect({ code, said }).toMatchObject({ code: 0 });
  expect(said).toContain(`${rules.length} rules found`);
  for (const { alert, annotations, labels } of rules) {
    expect(alert).toMatch(/^Flotilla[A-Z]\w+$/);
    expect(["warning", "critical"]).toContain(labels.severity);
    expect(annotations.description).toEndWith(".");
  }
});

test("every alert fires for what it is about, and not for what is well (rules/metrics#alerts-and-dashboard)", async () => {
  expect(rules.map(({ alert }) => alert)).toEqual(Object.keys(ALERT_CASES));
  const tests = rules.flatMap((rule) => {
    const { fires, quiet, labels = {} } = ALERT_CASES[rule.alert] as AlertCase;
    const { summary, description } = rule.annotations;
    const fired = {
      exp_labels: { ...labels, severity: rule.labels.severity },
      exp_annotations: {
        summary: filled(summary, labels),
        description: filled(description, labels),
      },
    };
    return [testOf(rule, fires, [fired]), testOf(rule, quiet, [])];
  });
  const file = { rule_files: ["alerts.yml"], evaluation_interval: "1m", tests };
  await Bun.write(join(dir, "alerts.test.json"), JSON.stringify(file));
  const { code, said } = await promtool(["test", "rules", "alerts.test.json"], "", dir);
  expect({ code, said }).toMatchObject({ code: 0 });
}, 120_000);

test("every query of the dashboard is one, and its panels have titles, units and places of their own (rules/metrics#alerts-and-dashboard)", async () => {
  const { panels, templating } = JSON.parse(await printed("dashboard"));
  expect(templating.list[0]).toMatchObject({ name: "datasource", type: "datasource" });
  const places = new Set<string>();
  const queries: string[] = [];
  for (const { id, title, type, gridPos, targets = [], datasource, fieldConfig } of panels) {
    places.add(`${gridPos.x},${gridPos.y}`);
    expect(title).not.toBe("");
    if (type === "row") continue;
    expect([id, datasource.uid, targets.length > 0]).toEqual([id, SOURCE, true]);
    expect(fieldConfig.defaults.unit).not.toBe("");
    expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
    for (const { expr } of targets) queries.push(expr.replaceAll("$__rate_interval", "5m"));
  }
  expect(places.size).toBe(panels.length);
  expect(new Set(panels.map(({ id }: { id: number }) => id)).size).toBe(panels.length);
  const recorded = queries.map((expr, i) => ({ record: `panel:${i}`, expr }));
  const file = { groups: [{ name: "panels", rules: recorded }] };
  await Bun.write(join(dir, "panels.json"), JSON.stringify(file));
  const { code, said } = await promtool(["check", "rules", "panels.json"], "", dir);
  expect({ code, said }).toMatchObject({ code: 0 });
});

test("monitoring prints one of the two, and says so where it is asked for something else", async () => {
  const asked = (...words: string[]) => runMonitoring(words, { terminal: { out: () => {} } });
  for (const words of [[], ["rules"], ["toString"], ["alerts", "dashboard"]])
    await expect(asked(...words)).rejects.toThrow(UsageError);
});
