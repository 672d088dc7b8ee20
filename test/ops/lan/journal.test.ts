import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { runProgram } from "#test/support/program.ts";
import { ensureBinary, ROOT } from "../../../scripts/build.ts";

/** The program below a real systemd and its journal, in a machine of scripts/lan. */

const LAN = join(ROOT, "scripts/lan");
/** A directory of this machine that is /srv/flotilla on the others. */
const SHARED = "/run/flotilla-lan/srv";
const flotilla = "/srv/flotilla/flotilla";

async function lan(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram([LAN, ...words]);
  if (code !== 0) throw new Error(`lan ${words.join(" ")}: ${code}\n${stdout}\n${stderr}`);
  return stdout;
}

beforeAll(async () => {
  const binary = await ensureBinary();
  await lan("up", "log1=10.0.0.71");
  copyFileSync(binary, join(SHARED, "flotilla"));
}, 180_000);

afterAll(() => lan("down"), 60_000);

const inMachine = (script: string) => lan("run", "log1", "sh", "-ec", script);

test("the journal keeps each line with its priority", async () => {
  const env = "-E SVC_SUBMIT_WAIT_S=0 -E SVC_DATA_DIR=/tmp/data";
  const said = await inMachine(`
    systemd-run -q --unit=hub ${env} ${flotilla} hub --host 127.0.0.1 --port 8123
    until curl -sf http://127.0.0.1:8123/health >/dev/null; do sleep 0.2; done
    curl -s http://127.0.0.1:8123/jobs -H 'content-type: application/json' -d '{"url": "http://site.test/"}' >/dev/null
    systemctl stop hub
    systemd-run -q --wait --unit=bad -E SVC_PORT=x ${flotilla} hub || true
    journalctl --sync
    journalctl -q -o json --output-fields=PRIORITY,MESSAGE,_COMM -u hub -u bad _COMM=flotilla
  `);
  const entries = said
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { PRIORITY: string; MESSAGE: string });
  const priorityOf = (text: string) => entries.find((e) => e.MESSAGE.includes(text))?.PRIORITY;
  for (const { MESSAGE } of entries) expect(MESSAGE).not.toStartWith("<");
  expect(priorityOf('"message":"hub started"')).toBe("6");
  expect(priorityOf('"path":"/jobs","status":503')).toBe("4");
  expect(priorityOf("flotilla: SVC_PORT")).toBe("3");
  expect(entries.some((e) => e.MESSAGE.includes('"path":"/health"'))).toBe(false);
}, 120_000);
