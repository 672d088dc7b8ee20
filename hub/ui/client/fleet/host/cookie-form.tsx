import {
  Button,
  Checkbox,
  Group,
  Modal,
  NativeSelect,
  PasswordInput,
  Stack,
  TextInput,
} from "@mantine/core";
import { type FormEvent, useState } from "react";
import type { StoredCookie } from "#shared/protocol/schema/cookie.ts";
import { ApiError, type Issue } from "../../lib/http.ts";
import { momentText } from "../../lib/moments.ts";
import { useChange } from "../../lib/query.ts";
import { ErrorNote } from "../../parts/states.tsx";
import { changeCookies, cookieKey, MASK } from "./cookie-changes.ts";

interface CookieFormProps {
  host: string;
  /** Null for a new one. */
  cookie: StoredCookie | null;
  onClose: () => void;
}

/** What the API said about a field of the last cookie that was sent. */
const said = (issues: readonly Issue[], field: string): string | null =>
  issues.find(({ loc }) => loc.at(-1) === field)?.msg ?? null;

/** A new cookie, or a new value for an existing one: when left empty, the stored value stays. */
export function CookieForm({ host, cookie, onClose }: CookieFormProps) {
  const [draft, setDraft] = useState<StoredCookie>(
    cookie ?? {
      ...{ name: "", value: "", domain: host, path: "/", expires: -1 },
      ...{ http_only: false, secure: false, same_site: "Lax" },
    },
  );
  const [value, setValue] = useState("");
  const save = useChange(
    () => {
      const next = { ...draft, value: cookie !== null && value === "" ? MASK : value };
      const own = cookieKey(cookie ?? next);
      return changeCookies(host, (now) => [...now.filter((one) => cookieKey(one) !== own), next]);
    },
    {
      done: "The cookie was saved",
      failed: "The cookie was not saved",
      quiet: true,
      onDone: onClose,
    },
  );
  const issues = save.error instanceof ApiError ? save.error.issues : [];
  const set = (changed: Partial<StoredCookie>) => setDraft({ ...draft, ...changed });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate(undefined);
  };
  return (
    <Modal opened onClose={onClose} title={cookie ? "Change a cookie" : "New cookie"} centered>
      <form onSubmit={submit}>
        <Stack gap="sm">
          <TextInput
            label="Name"
            required
            readOnly={cookie !== null}
            data-autofocus={cookie === null || undefined}
            value={draft.name}
            onChange={(event) => set({ name: event.currentTarget.value })}
            error={said(issues, "name")}
          />
          <PasswordInput
            label="Value"
            description={cookie ? "Leave empty to keep the stored value" : undefined}
            data-autofocus={cookie !== null || undefined}
            autoComplete="off"
            visibilityToggleButtonProps={{ "aria-label": "Show what you type" }}
            value={value}
            onChange={(event) => setValue(event.currentTarget.value)}
            error={said(issues, "value")}
          />
          <TextInput
            label="Domain"
            description="A leading dot includes subdomains"
            required
            readOnly={cookie !== null}
            value={draft.domain}
            onChange={(event) => set({ domain: event.currentTarget.value })}
            error={said(issues, "domain")}
          />
          <TextInput
            label="Path"
            required
            readOnly={cookie !== null}
            value={draft.path}
            onChange={(event) => set({ path: event.currentTarget.value })}
            error={said(issues, "path")}
          />
          <Group grow align="flex-end">
            <TextInput
              label="Ends"
              description="Empty: when the browser closes"
              type="datetime-local"
              value={draft.expires < 0 ? "" : momentText(draft.expires * 1_000)}
              onChange={({ currentTarget }) =>
                set({
                  expires:
                    currentTarget.value === "" ? -1 : Date.parse(currentTarget.value) / 1_000,
                })
              }
              error={said(issues, "expires")}
            />
            <NativeSelect
              label="SameSite"
              data={["Strict", "Lax", "None"]}
              value={draft.same_site}
              onChange={(event) =>
                set({ same_site: event.currentTarget.value as StoredCookie["same_site"] })
              }
            />
          </Group>
          <Group>
            <Checkbox
              label="Secure"
              checked={draft.secure}
              onChange={(event) => set({ secure: event.currentTarget.checked })}
            />
            <Checkbox
              label="HttpOnly"
              checked={draft.http_only}
              onChange={(event) => set({ http_only: event.currentTarget.checked })}
            />
          </Group>
          {save.error && <ErrorNote error={save.error} title="The cookie was not saved" />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={save.isPending}>
              Save cookie
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
