// What the person has set, and what the last sync came to.

/** Written by the hub that this extension was downloaded from. */
const readConfig = async () => (await fetch(chrome.runtime.getURL("config.json"))).json();

/** `{hub, token, scope}`: the address as it is asked for, without a slash at its end. */
export async function readSettings() {
  const {
    hub,
    token = "",
    scope = "active-host",
  } = await chrome.storage.local.get(["hub", "token", "scope"]);
  return { hub: hub ?? (await readConfig()).hub, token, scope };
}

/** Throws a sentence when the address is not valid. */
export async function saveSettings({ hub, token, scope }) {
  await chrome.storage.local.set({ hub: hubAddress(hub), token: token.trim(), scope });
}

function hubAddress(text) {
  const address = text.trim().replace(/\/+$/, "");
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address))
    throw new Error("The hub's address must look like http://hub.lan:8000");
  return address;
}

/** `{ok, at, text}` of the last sync; null before the first one. */
export const readStatus = async () => (await chrome.storage.local.get("status")).status ?? null;

export const saveStatus = (status) => chrome.storage.local.set({ status });

export function showStatus(element, status) {
  element.dataset.state = status === null ? "none" : status.ok ? "ok" : "failed";
  element.textContent =
    status === null
      ? "Nothing was sent yet."
      : `${new Date(status.at).toLocaleString()}: ${status.text}`;
}
