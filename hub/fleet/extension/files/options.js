import { readSettings, readStatus, saveSettings, showStatus } from "./settings.js";

const field = (id) => document.querySelector(`#${id}`);
const scopes = [...document.querySelectorAll("input[name=scope]")];
const saved = field("saved");

field("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const scope = scopes.find((input) => input.checked)?.value ?? "active-host";
  try {
    await saveSettings({ hub: field("hub").value, token: field("token").value, scope });
    saved.dataset.state = "ok";
    saved.textContent = "Saved.";
  } catch (err) {
    saved.dataset.state = "failed";
    saved.textContent = err.message;
  }
});

const settings = await readSettings();
field("hub").value = settings.hub;
field("token").value = settings.token;
for (const input of scopes) input.checked = input.value === settings.scope;
// Until now they would have been saved empty, and what was typed would have been overwritten.
field("fields").disabled = false;
showStatus(field("status"), await readStatus());
