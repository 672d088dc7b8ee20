import { readSettings, readStatus, showStatus } from "./settings.js";

const status = document.querySelector("#status");
const button = document.querySelector("#sync");
const scopes = [...document.querySelectorAll("input[name=scope]")];

button.addEventListener("click", async () => {
  const scope = scopes.find((input) => input.checked)?.value ?? "active-host";
  button.disabled = true;
  status.dataset.state = "busy";
  status.textContent = "Sending…";
  showStatus(status, await chrome.runtime.sendMessage({ type: "sync", scope }));
  button.disabled = false;
});

const settings = await readSettings();
document.querySelector("#hub").textContent = settings.hub;
for (const input of scopes) input.checked = input.value === settings.scope;
showStatus(status, await readStatus());
button.disabled = false;
