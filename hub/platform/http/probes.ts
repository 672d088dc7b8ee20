import { Live, Pressure, type ProbeReason, Ready } from "#shared/protocol/schema/probes.ts";
import { createRoute } from "./create-route.ts";
import { newApp } from "./new-app.ts";
import { RETRY_AFTER_S } from "./on-error.ts";
import { fails, ok } from "./openapi-parts.ts";

const tags = ["health"];

const live = createRoute({
  method: "get",
  path: "/live",
  access: "public",
  tags,
  operationId: "getLive",
  summary: "Does the process run?",
  description: "200 for as long as it answers at all; it asks nothing else. Needs no token.",
  responses: ok(Live),
});
const ready = createRoute({
  method: "get",
  path: "/ready",
  access: "public",
  tags,
  operationId: "getReady",
  summary: "Should a router send calls here?",
  description:
    "503 with the reasons while the process stops, or a store does not answer. A disk that is short or a store that cannot write " +
    "leaves it ready, because what is stored can be read. Needs no token.",
  responses: {
    ...ok(Ready),
    503: { description: "Not now", content: { "application/json": { schema: Ready } } },
  },
});
const pressure = createRoute({
  method: "get",
  path: "/pressure",
  access: "view",
  tags,
  operationId: "getPressure",
  summary: "How busy is it, and would new work begin at once?",
  description: "Always 200. An answer is used again for a second.",
  responses: { ...ok(Pressure), ...fails(503) },
});

/** What a mode of the server knows of itself. */
export interface Probes {
  notReady(): Promise<ProbeReason[]>;
  pressure(): Promise<Pressure>;
}

/** GET /live, /ready and /pressure (rules/metrics#live-and-ready). */
export const probeRoutes = (probes: Probes) =>
  newApp()
    .openapi(live, (c) => c.json({ status: "live" as const }, 200))
    .openapi(ready, async (c) => {
      const reasons = await probes.notReady();
      if (reasons.length === 0) return c.json({ ready: true, reasons }, 200);
      c.header("Retry-After", RETRY_AFTER_S);
      return c.json({ ready: false, reasons }, 503);
    })
    .openapi(pressure, async (c) => c.json(await probes.pressure(), 200));
