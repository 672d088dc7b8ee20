import type { Frame, Locator, Page } from "playwright-core";
import type { Clock } from "#shared/kit/clock.ts";
import { fillSecrets, type SecretHosts, secretRefusal } from "#shared/protocol/recipe-secrets.ts";
import { refused } from "./failure.ts";
import { type FrameArg, locatorIn } from "./selectors.ts";
import { type Hide, hidingTyped } from "./typed-secrets.ts";

interface SecretInput {
  page: Page;
  secrets: Readonly<Record<string, string>>;
  secret_hosts: SecretHosts;
  clock: Clock;
  hide: Hide;
}

/** What may have become of the element's frame between finding it and filling it. */
const GONE = /not attached|detached|Execution context was destroyed|Cannot find context/i;

/**
 * Fills a field. A value from the hub goes only into a frame of a host that it is bound to: the frame's address is
 * checked once its element is found, and an element does not outlive its document.
 * @throws ActionFailure naming the variable and the host when it may not be entered in this frame.
 */
export function fillSecret(
  input: SecretInput,
  { text, ...target }: { selector: string; frame?: FrameArg; text: string },
  timeout_ms: number,
): Promise<void> {
  const filled = fillSecrets(text, input.secrets);
  const field = locatorIn(input.page, target).first();
  const { page, clock, hide } = input;
  return hidingTyped({ page, clock, hide, field, text: filled, by_key: false }, () =>
    filled === text
      ? field.fill(text, { timeout: timeout_ms })
      : fillOnItsHost(input, { field, text, filled }, timeout_ms),
  );
}

async function fillOnItsHost(
  { secret_hosts, clock }: SecretInput,
  { field, text, filled }: { field: Locator; text: string; filled: string },
  timeout_ms: number,
): Promise<void> {
  const end = clock.monotonic() + timeout_ms;
  for (;;) {
    const left = () => Math.max(1, end - clock.monotonic());
    const element = await field.elementHandle({ timeout: left() });
    if (element === null) continue;
    demandHost(text, secret_hosts, await element.ownerFrame());
    try {
      return await element.fill(filled, { timeout: left() });
    } catch (err) {
      if (!(err instanceof Error) || !GONE.test(err.message) || clock.monotonic() >= end) throw err;
    } finally {
      await element.dispose().catch(() => {});
    }
  }
}

/**
 * Types into whatever has the focus. A page may move the focus at every key, so the frame is checked before each one.
 * @throws ActionFailure as `fillSecret`.
 */
export function typeSecret(
  { page, secrets, secret_hosts, clock, hide }: SecretInput,
  { text }: { text: string },
): Promise<void> {
  const typed = fillSecrets(text, secrets);
  return hidingTyped({ page, clock, hide, field: null, text: typed, by_key: true }, async () => {
    if (typed === text) return page.keyboard.type(text);
    for (const character of typed) {
      demandHost(text, secret_hosts, await focusedFrame(page));
      await page.keyboard.type(character);
    }
  });
}

function demandHost(text: string, hosts: SecretHosts, frame: Frame | null): void {
  const why = secretRefusal(text, hosts, frame?.url() ?? "");
  if (why !== null) throw refused(why);
}

/**
 * The frame that gets the next key: `:focus` matches only there. It is queried in Playwright's own world, where the
 * page's scripts cannot interfere. @throws ActionFailure when no element has the focus: keys would go to any
 * listener.
 */
async function focusedFrame(page: Page): Promise<Frame> {
  for (const frame of page.frames()) {
    const focused = await frame.$(":focus").catch(() => null);
    if (!focused) continue;
    await focused.dispose().catch(() => {});
    return frame;
  }
  throw refused("no element has the focus");
}
