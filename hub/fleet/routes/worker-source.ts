import { z } from "@hono/zod-openapi";
import { createRoute } from "#hub/platform/http/create-route.ts";
import { isHeld } from "#hub/platform/http/if-none-match.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { bytes, fails, streamed } from "#hub/platform/http/openapi-parts.ts";
import { builtRelease } from "#shared/protocol/release.ts";
import { NONCE, PROOF_HEADERS, signOffer } from "#shared/protocol/update-proof.ts";
import type { FleetContext } from "../context.ts";
import { createWorkerSource } from "../update/worker-source.ts";

const source = createRoute({
  method: "get",
  path: "/worker-source.tar.gz",
  access: "public",
  tags: ["workers"],
  operationId: "getWorkerSource",
  summary: "The program's sources, as workers fetch them",
  description:
    "A gzip tar of the sources and VERSION; the same bytes for the same version. With `for` it is signed with the " +
    "key of the installation, and in a signed build also with the release key. Needs no token: do not expose it " +
    "outside the LAN. 503 when the hub has no sources, or they have changed since it started.",
  request: {
    headers: z.object({ "if-none-match": z.string().optional() }),
    query: z.object({
      for: z.string().regex(NONCE).optional().openapi({
        description:
          "A random value: the answer's X-Flotilla-Update-Signature is valid for this value only",
      }),
    }),
  },
  responses: {
    200: bytes("The archive"),
    304: { description: "If-None-Match names this version" },
    ...fails(422, 503),
  },
});

/** What a worker judges the archive by (`shared/protocol/update-proof.ts`). */
function proofOf(
  key: FleetContext["update_key"],
  { nonce, ...what }: { nonce: string | undefined; version: string; sha256: string },
): Record<string, string> {
  const proof: Record<string, string> = {};
  const release = builtRelease();
  if (release) {
    proof[PROOF_HEADERS.released_at] = release.released_at;
    proof[PROOF_HEADERS.release] = release.signature;
  }
  if (key && nonce !== undefined) {
    proof[PROOF_HEADERS.key] = key.public;
    proof[PROOF_HEADERS.offer] = signOffer({ nonce, ...what }, key.private_pem);
  }
  return proof;
}

/** GET /worker-source.tar.gz (rules/updates#worker-source). */
export function workerSourceRoutes(ctx: Pick<FleetContext, "version" | "clock" | "update_key">) {
  const openArchive = createWorkerSource(ctx.version, ctx.clock);
  return newApp().openapi(source, async (c) => {
    const { archive, etag, sha256 } = await openArchive();
    const headers = {
      ETag: etag,
      "Cache-Control": "no-cache",
      "X-Flotilla-Version": ctx.version,
      ...proofOf(ctx.update_key, { nonce: c.req.query("for"), version: ctx.version, sha256 }),
    };
    if (isHeld(c, etag)) return c.body(null, 304, headers);
    const type = { "Content-Type": "application/gzip" };
    const length = { "Content-Length": String(archive.byteLength) };
    return streamed(c.body(archive.slice().buffer, 200, { ...headers, ...type, ...length }));
  });
}
