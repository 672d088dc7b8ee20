import { join } from "node:path";
import { createClient } from "@hey-api/openapi-ts";
import openapiTypes, { astToString } from "openapi-typescript";
import { generate } from "orval";

const [file = "", address = "", out = ""] = process.argv.slice(2);

await Bun.write(
  join(out, "openapi-typescript/api.ts"),
  // A field with a default may be left out of what is sent.
  astToString(await openapiTypes(await Bun.file(file).json(), { defaultNonNullable: false })),
);
await createClient({
  input: file,
  output: join(out, "hey-api/api"),
  plugins: [
    "@hey-api/typescript",
    "@hey-api/sdk",
    { name: "@hey-api/client-fetch", baseUrl: address },
  ],
  logs: { level: "error", file: false },
});
await generate({
  input: { target: file },
  output: { target: join(out, "orval/api.ts"), client: "fetch", baseUrl: address },
});
