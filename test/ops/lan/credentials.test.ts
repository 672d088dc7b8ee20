import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Check } from "#hub/program/commands/doctor/check.ts";
import type { VariableLine } from "#hub/program/variables/describe.ts";
import { seededBlocks } from "#test/support/rigs/seeded-blocks.ts";
import {
  FLOTILLA,
  machinesDown,
  machinesUp,
  runIn,
  SLOW_MS,
  tryIn,
} from "#test/support/servers/lan-machines.ts";

/** Secrets that systemd hands to the units (`LoadCredential=`), in a machine with systemd. */

const HOST = "secret1";
const inMachine = (script: string) => runIn(HOST, script);
const TOKEN = "a-token-that-only-systemd-reads";
const SECRET = "a-secret-that-only-systemd-reads";
const install = (words: string) =>
  inMachine(`${FLOTILLA} install ${words} --now --timeout 400 2>&1`);
const statusOf = async (path: string, header = "") =>
  (
    await inMachine(`curl -s -o /dev/null -w '%{http_code}' ${header} http://127.0.0.1:8000${path}`)
  ).trim();
/** A drop-in of `unit`, with what it names in files that root alone may read. */
const dropIn = (unit: string, names: string[]) => {
  const lines = names.map((name) => `LoadCredential=${name}:/etc/flotilla/${name}`).join("\\n");
  return inMachine(
    `mkdir -p /etc/systemd/system/${unit}.d
     printf '[Service]\\n${lines}\\n' > /etc/systemd/system/${unit}.d/secrets.conf
     systemctl daemon-reload`,
  );
};
async function variablesCheck(words: string): Promise<Check | undefined> {
  const { stdout } = await tryIn(HOST, `flotilla doctor ${words} --installed --json`);
  return (JSON.parse(stdout).checks as Check[]).find(({ name }) => name === "variables");
}

beforeAll(async () => {
  await machinesUp(`${HOST}=10.0.0.77`);
  await inMachine(
    `mkdir -p /etc/flotilla
     umask 077
     echo '${TOKEN}' > /etc/flotilla/api_token
     cp /etc/flotilla/api_token /etc/flotilla/SVC_API_TOKEN
     echo '${SECRET}' > /etc/flotilla/WORKER_SECRET`,
  );
}, SLOW_MS);
afterAll(() => machinesDown(), SLOW_MS);

test(
  "the guide's drop-in gives a hub its token, which nobody but root and the service can read",
  async () => {
    expect(await install("hub")).toContain("flotilla-hub.service is started");
    expect(await statusOf("/jobs")).toBe("200");
    const [drop_in = ""] = seededBlocks("how-to/configuration.md#secrets-in-files", 1);
    await inMachine(drop_in);
    expect(await statusOf("/jobs")).toBe("401");
    expect(await statusOf("/jobs", `-H 'authorization: Bearer ${TOKEN}'`)).toBe("200");
    expect(await inMachine("cat /etc/flotilla/hub.env")).not.toContain(TOKEN);
    expect((await tryIn(HOST, "runuser -u flotilla cat /etc/flotilla/api_token")).code).not.toBe(0);
  },
  SLOW_MS,
);

test(
  "doctor --installed names the credentials, and config show where each comes from",
  async () => {
    await dropIn("flotilla-hub.service", ["WORKER_SECRET"]);
    await inMachine("systemctl restart flotilla-hub");
    const found = (await variablesCheck("hub"))?.found ?? "";
    expect(found).toMatch(/SVC_API_TOKEN from credential \/run\/credentials\/\S+\/SVC_API_TOKEN/);
    expect(found).toMatch(/WORKER_SECRET from credential \/run\/credentials\/\S+\/WORKER_SECRET/);
    const said = await inMachine(
      "CREDENTIALS_DIRECTORY=/run/credentials/flotilla-hub.service flotilla config show hub --json",
    );
    const { variables } = JSON.parse(said) as { variables: VariableLine[] };
    const line = (name: string) => variables.find((variable) => variable.name === name);
    for (const name of ["SVC_API_TOKEN", "WORKER_SECRET"])
      expect(line(name)).toEqual({
        name,
        value: "***",
        from: "credential",
        file: `/run/credentials/flotilla-hub.service/${name}`,
      });
    expect(`${found}${said}`).not.toContain("only-systemd-reads");
  },
  SLOW_MS,
);

test(
  "a worker joins with secret and token from credentials, and not without them",
  async () => {
    const worker = "worker main --control-url http://127.0.0.1:8000 --slots 1";
    const without = await tryIn(HOST, `${FLOTILLA} install ${worker} --now --timeout 60 2>&1`);
    expect(without.code).toBe(1);
    expect(without.stdout).toContain("is activating");
    await dropIn("flotilla-worker@main.service", ["SVC_API_TOKEN", "WORKER_SECRET"]);
    expect(await install(worker)).toContain("flotilla-worker@main.service is restarted");
    const workers = await inMachine(
      `curl -sf -H 'authorization: Bearer ${TOKEN}' http://127.0.0.1:8000/api/v1/workers`,
    );
    expect(JSON.parse(workers).workers).toHaveLength(1);
    const found = (await variablesCheck("worker main"))?.found ?? "";
    expect(found).toContain("WORKER_SECRET from credential /run/credentials/");
    expect(await inMachine("cat /etc/flotilla/worker-main.env")).not.toContain(
      "only-systemd-reads",
    );
  },
  SLOW_MS,
);
