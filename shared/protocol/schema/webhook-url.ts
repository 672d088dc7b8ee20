import { isRefusedHost } from "#shared/kit/addresses.ts";
import { httpUrl } from "./http-url.ts";

/** Where ends of jobs are posted. Everybody who may read the fleet's state sees it, hence no credentials. */
export const WebhookUrl = httpUrl("must not hold credentials").refine(
  (raw) => !URL.canParse(raw) || !isRefusedHost(new URL(raw).hostname),
  { error: "must not be a cloud metadata or link-local address" },
);
