import { createHttp, type Http } from "#shared/client/http.ts";
import { fetchHub } from "#shared/protocol/trust.ts";

/** Where this worker's hub gives out and takes files. */
export interface HubFiles {
  base_url: Promise<string>;
  worker_id: string;
  upload_token: string;
}

/** The transport of calls that the token of a link admits. @throws TypeError when the base is no http address */
export const hubFilesHttp = async ({
  base_url,
  upload_token,
}: Omit<HubFiles, "worker_id">): Promise<Http> =>
  createHttp({ base_url: await base_url, token: upload_token, fetch: fetchHub });
