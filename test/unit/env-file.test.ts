import { expect, test } from "bun:test";
import { editEnvText, readEnvText } from "#hub/program/commands/install/env-file.ts";

const FILE = `# of the hub
SVC_PORT=8000

; by hand
WORKER_SECRET='a "b" \\c'   
 SVC_DB_URL = "postgres://a:p\\"\\$\\\\ w@db/x"
#SVC_LOG_LEVEL=info
SVC_CORS_ORIGINS=https://a.example,\\
https://b.example
SVC_PORT=8001
not an assignment
`;

test("values are read as systemd reads an EnvironmentFile", () => {
  expect(readEnvText(FILE)).toEqual({
    SVC_PORT: "8001",
    WORKER_SECRET: 'a "b" \\c',
    SVC_DB_URL: 'postgres://a:p"$\\ w@db/x',
    SVC_CORS_ORIGINS: "https://a.example,https://b.example",
  });
  expect(readEnvText('A="one\ntwo"\nB=x # no comment\nC=')).toEqual({
    A: "one\ntwo",
    B: "x # no comment",
    C: "",
  });
});

test("an edit changes the lines that count, and keeps comments, order and everything else", () => {
  const values = { SVC_PORT: "9000", SVC_LOG_LEVEL: "debug", SVC_REDIS_URL: "redis://:a b@r/0" };
  const edited = editEnvText(FILE, values, ["SVC_CORS_ORIGINS", "WORKER_SECRET"]);
  expect(edited).toBe(`# of the hub
SVC_PORT=8000

; by hand
#WORKER_SECRET=
 SVC_DB_URL = "postgres://a:p\\"\\$\\\\ w@db/x"
SVC_LOG_LEVEL=debug
#SVC_CORS_ORIGINS=
SVC_PORT=9000
not an assignment
SVC_REDIS_URL="redis://:a b@r/0"
`);
  expect(readEnvText(edited).SVC_REDIS_URL).toBe("redis://:a b@r/0");
  expect(editEnvText(edited, { WORKER_SECRET: "$new`" }, ["SVC_PORT"])).toContain(
    '\n#SVC_PORT=\n\n; by hand\nWORKER_SECRET="\\$new\\`"\n',
  );
});

test("what is written is read back, whatever it holds", () => {
  for (const value of ["a", "a b", "$HOME", '"', "'", "\\", "\\n", "#", "ä=1", "`id`", ";", "a\\"])
    expect(readEnvText(editEnvText("", { A: value, B: "after" }, []))).toEqual({
      A: value,
      B: "after",
    });
});
