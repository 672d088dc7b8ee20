import { isOnHost } from "#shared/protocol/recipe-secrets.ts";
import type { HttpLogin } from "#shared/protocol/schema/http-credentials.ts";
import type { CdpSession, Protocol } from "../cdp/connection.ts";

/** What is done about servers that ask for a user name and a password. */
export interface Logins {
  /** The login that some of them are given; null: none has any. */
  own: HttpLogin | null;
  /**
   * The others are refused one at once. Otherwise Chromium asks a person, and the request, with its answer and the load event
   * of its page, waits for one forever.
   */
  refuses: boolean;
}

/** Challenges that were answered and may come again: as many as are open at a time. */
const MAX_ANSWERED = 1_000;

function mayHave({ hosts, origin }: HttpLogin, asking: string): boolean {
  const url = URL.parse(asking);
  if (url === null || (origin !== null && url.origin !== origin)) return false;
  return hosts.some((pattern) => isOnHost(url.hostname, pattern));
}

/** Answers every challenge that the browser holds. A login that a server refuses is not given to it again. */
export function answerLogins(root: CdpSession, { own, refuses }: Logins): void {
  const answered = new Set<string>();
  const isNew = (request_id: string): boolean => {
    if (answered.has(request_id)) return false;
    answered.add(request_id);
    if (answered.size > MAX_ANSWERED) answered.delete(answered.values().next().value ?? "");
    return true;
  };
  const answerTo = ({
    requestId,
    authChallenge: { source, origin },
  }: Protocol.Fetch.AuthRequiredEvent): Protocol.Fetch.AuthChallengeResponse => {
    // The lane's gate answers for the proxy.
    if (source === "Proxy") return { response: "Default" };
    if (own && mayHave(own, origin) && isNew(requestId)) {
      const { username, password } = own;
      return { response: "ProvideCredentials", username, password };
    }
    return { response: refuses ? "CancelAuth" : "Default" };
  };
  root.on("Fetch.authRequired", (asked) => {
    const authChallengeResponse = answerTo(asked);
    root.post("Fetch.continueWithAuth", { requestId: asked.requestId, authChallengeResponse });
  });
}
