import { z } from "@hono/zod-openapi";
import { isRefusedHost } from "#shared/kit/addresses.ts";

/** Where ends of jobs are posted. Everybody who may read the fleet's state sees it, hence no credentials. */
export const WebhookUrl = z
  .string()
  .max(2_000)
  .refine((raw) => URL.canParse(raw) && /^https?:$/.test(new URL(raw).protocol), {
    error: "must be an http or https URL",
  })
  .refine((raw) => !URL.canParse(raw) || (!new URL(raw).username && !new URL(raw).password), {
    error: "must not hold credentials",
  })
  .refine((raw) => !URL.canParse(raw) || !isRefusedHost(new URL(raw).hostname), {
    error: "must not be a cloud metadata or link-local address",
  });
