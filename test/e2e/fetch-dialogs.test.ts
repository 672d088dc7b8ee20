import { afterAll, beforeAll, expect, test } from "bun:test";
import { type JobLane, openJobLane } from "#test/support/rigs/lane-jobs.ts";
import { utf8 } from "#test/support/servers/site/bytes.ts";
import { type SiteServer, startServer } from "#test/support/servers/site/server.ts";

/** `dialog_policy`: what becomes of a dialog that a fetch job's page opens (rules/capture#dialogs-of-a-job). */

const SLOW_MS = 180_000;
const ASKS = `
  const yes = confirm("go on?");
  const name = prompt("your name?", "nobody");
  document.title = JSON.stringify([yes, name]);
  fetch("/asked.json").then((answer) => answer.text());`;

let site: SiteServer;
let lane: JobLane;
beforeAll(async () => {
  [site, lane] = await Promise.all([startServer("127.0.0.1"), openJobLane()]);
  const html = `<!doctype html><link rel=icon href=data:,><script>${ASKS}</script>`;
  site.body("/asks", { mime: "text/html", bytes: utf8(html) });
  site.body("/asked.json", { mime: "application/json", bytes: utf8("[]") });
}, 180_000);
afterAll(async () => {
  await lane.close();
  await site.stop();
});

const told = [
  ["dismiss", [false, null], "dismissed a confirm dialog: go on?"],
  ["accept", [true, "nobody"], "accepted a prompt dialog: your name?"],
] as const;
for (const [dialog_policy, answers, line] of told)
  test(
    `${dialog_policy} answers at once, and what the page does then is captured`,
    async () => {
      const url = `${site.origin}/asks`;
      const { outcome, assets, log } = await lane.run({ url, options: { dialog_policy } });
      expect(outcome).toMatchObject({ status: "completed", title: JSON.stringify(answers) });
      expect(log.join("\n")).toContain(line);
      expect(assets.map(({ source_url }) => source_url)).toContain(`${site.origin}/asked.json`);
    },
    SLOW_MS,
  );

test(
  "wait leaves it to whoever steers, and the job goes on with the answer",
  async () => {
    const given: string[] = [];
    const { outcome, assets, log } = await lane.run({
      url: `${site.origin}/asks`,
      options: { dialog_policy: "wait" },
      onDialogs: (dialogs) => {
        const answerAll = async () => {
          for (;;) {
            while (dialogs.list().length === 0) await Bun.sleep(20);
            const [dialog] = dialogs.list();
            if (!dialog) continue;
            given.push(dialog.type);
            await dialogs.answer(dialog, true, "somebody");
            if (given.length === 2) return;
          }
        };
        void answerAll();
      },
    });
    expect(given).toEqual(["confirm", "prompt"]);
    expect(outcome).toMatchObject({ status: "completed", title: '[true,"somebody"]' });
    expect(log.join("\n")).toContain("a confirm dialog waits for an answer: go on?");
    expect(assets.map(({ source_url }) => source_url)).toContain(`${site.origin}/asked.json`);
  },
  SLOW_MS,
);
