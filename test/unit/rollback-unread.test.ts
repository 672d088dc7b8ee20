import { expect, test } from "bun:test";
import { beyondEnvironment } from "#hub/program/commands/install/unread.ts";

test("files of secrets, credentials and a configuration file are what an earlier version does not read", () => {
  const values = {
    SVC_API_TOKEN_FILE: "/etc/flotilla/token",
    SVC_CONFIG: "/etc/flotilla/hub.toml",
    SVC_PORT: "8000",
    // An earlier version reads it from here, whatever else gives it.
    SVC_ADMIN_PASSWORD: "a password of twelve",
  };
  const unit = `[Service]
LoadCredential=WORKER_SECRET:/etc/flotilla/secret
SetCredentialEncrypted = S3_SECRET_ACCESS_KEY: k6iUCUh0RJCQyvL8k8q1UyAAAAABAAAADAAAABAAAAC
LoadCredential=SVC_ADMIN_PASSWORD:/etc/flotilla/password
LoadCredential=somebody.else:/etc/hosts
# LoadCredential=SVC_DB_URL:/etc/flotilla/db
`;
  expect(beyondEnvironment(values, unit)).toEqual([
    "SVC_CONFIG",
    "SVC_API_TOKEN_FILE",
    "WORKER_SECRET from a credential",
    "S3_SECRET_ACCESS_KEY from a credential",
  ]);
  expect(beyondEnvironment({ SVC_PORT: "8000" }, "[Service]\nType=notify\n")).toEqual([]);
});
