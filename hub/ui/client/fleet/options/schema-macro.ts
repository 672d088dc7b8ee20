import { z } from "@hono/zod-openapi";
import { JobOptions } from "#shared/protocol/schema/job-options.ts";

/**
 * The options of a job as a JSON schema. Runs when the app is bundled: a browser gets 4 kB of data in place of a
 * library of 96 kB.
 */
export const jobOptionsSchema = () => z.toJSONSchema(JobOptions, { io: "input" }).properties ?? {};
