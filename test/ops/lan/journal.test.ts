import { afterAll, beforeAll, expect, test } from "bun:test";
import { seededBlocks } from "#test/support/rigs/seeded-blocks.ts";
import {
  FLOTILLA,
  machinesDown,
  machinesUp,
  runIn,
  SLOW_MS,
} from "#test/support/servers/lan-machines.ts";

/** The program below a real systemd and its journal, in a machine of scripts/lan. */

const HOST = "log1";
const inMachine = (script: string) => runIn(HOST, script);

beforeAll(() => machinesUp(`${HOST}=10.0.0.71`), SLOW_MS);
afterAll(() => machinesDown(), SLOW_MS);

test("the journal keeps each line with its priority", async () => {
  const env = "-E SVC_SUBMIT_WAIT_S=0 -E SVC_DATA_DIR=/tmp/data";
  const said = await inMachine(`
    systemd-run -q --unit=hub ${env} ${FLOTILLA} hub --host 127.0.0.1 --port 8123
    until curl -sf http://127.0.0.1:8123/health >/dev/null; do sleep 0.2; done
    curl -s http://127.0.0.1:8123/jobs -H 'content-type: application/json' -d '{"url": "http://site.test/"}' >/dev/null
    systemctl stop hub
    systemd-run -q --wait --unit=bad -E SVC_PORT=x ${FLOTILLA} hub || true
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
  // A hub that is not well yet answers 503, which is a warning.
  const well = entries.filter((e) => /"path":"\/health","status":200/.test(e.MESSAGE));
  expect(well).toEqual([]);
}, 600_000);

test("systemctl reload makes a hub read its configuration file again, and does not end it", async () => {
  const said = await inMachine(`
    ${FLOTILLA} install hub --generate-secret --now >/dev/null
    printf 'SVC_LOG_LEVEL = "info"\n' > /etc/flotilla/hub.toml
    chgrp flotilla /etc/flotilla/hub.toml
    chmod 0640 /etc/flotilla/hub.toml
    chmod 0711 /etc/flotilla
    ${FLOTILLA} install hub --set SVC_CONFIG=/etc/flotilla/hub.toml --now >/dev/null
    systemctl show -p MainPID --value flotilla-hub
    printf 'SVC_LOG_LEVEL = "debug"\n' > /etc/flotilla/hub.toml
    systemctl reload flotilla-hub
    for _ in $(seq 100); do
      journalctl --sync
      journalctl -q -o cat -u flotilla-hub | grep 'configuration reloaded' && break
      sleep 0.2
    done
    systemctl show -p MainPID --value flotilla-hub
    curl -sf -o /dev/null http://127.0.0.1:8000/health
  `);
  const [before, line = "", after] = said.trim().split("\n");
  expect(JSON.parse(line)).toMatchObject({ changed: ["SVC_LOG_LEVEL: info → debug"] });
  expect(after).toBe(before as string);
}, 600_000);

test("the guide's commands show what went wrong, and the lines as they are written", async () => {
  const [block = ""] = seededBlocks("how-to/monitoring.md#logs", 1);
  const [wrong = "", follow = "", more] = block.trimEnd().split("\n");
  expect(more).toBeUndefined();
  // Somebody who follows the log has to be ended, so that a unit does it.
  const said = await inMachine(`
    refused() { curl -s http://127.0.0.1:8000/jobs -H 'content-type: application/json' -d '{"url": "http://site.test/"}' >/dev/null; }
    seen() { grep -c '"path":"/jobs","status":503' /tmp/followed; }
    ${FLOTILLA} install hub --generate-secret --set SVC_SUBMIT_WAIT_S=0 --now >/dev/null
    refused
    cat > /tmp/follow <<'LINE'
${follow}
LINE
    systemd-run -q --unit=follow -p StandardOutput=file:/tmp/followed sh /tmp/follow
    until [ "$(seen)" = 1 ]; do sleep 0.2; done
    refused
    until [ "$(seen)" = 2 ]; do sleep 0.2; done
    systemctl stop follow
    ${wrong}
  `);
  expect(said).toContain('"path":"/jobs","status":503');
  expect(said).not.toContain('"message":"hub started"');
}, 600_000);
