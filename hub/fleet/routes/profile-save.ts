import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import { Profile } from "#shared/protocol/schema/profile.ts";
import { SaveProfile } from "#shared/protocol/schema/session.ts";
import type { FleetContext } from "../context.ts";
import { requireSession } from "../sessions/registry.ts";
import { saveProfile } from "../sessions/save-profile.ts";
import { SaveProfileParams } from "./params.ts";

/** POST /sessions/{sid}/profile/save (rules/profiles#save-a-session-as-a-profile). */
export function profileSaveRoutes(ctx: FleetContext) {
  const save = createRoute({
    method: "post",
    path: "/sessions/{sid}/profile/save",
    access: "operate",
    changes: ["sessions", "profiles"],
    owner: "session",
    tags: ["sessions"],
    operationId: "saveSessionProfile",
    summary: "Store the session's browser profile",
    description:
      "Closes the session's browser, stores its profile, and opens it again with the same tabs and cookies.",
    middleware: [jsonBodyLimit],
    request: { params: SaveProfileParams, ...json(SaveProfile, { name: "work" }) },
    responses: {
      ...ok(Profile, "Replaced"),
      201: { description: "Stored", content: { "application/json": { schema: Profile } } },
      ...fails(400, 404, 409, 413, 415, 422, 502, 503, 504),
    },
  });
  return newApp().openapi(save, async (c) => {
    const session = requireSession(ctx, c.req.valid("param").sid);
    // The connection stays silent for longer than Bun allows; the call has its own deadline.
    c.env.server?.timeout(c.req.raw, 0);
    const { profile, created } = await saveProfile(ctx, session, c.req.valid("json").name);
    return c.json(profile, created ? 201 : 200);
  });
}
