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
import type { StoredCookie } from "#shared/protocol/schema/cookie.ts";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { useApiForm } from "../../forms/use-api-form.ts";
import { momentText } from "../../lib/moments.ts";
import { FormErrors } from "../../parts/form-errors.tsx";
import { changeCookies, cookieKey, MASK } from "./cookie-changes.ts";

interface CookieFormProps {
  host: string;
  /** Null for a new one. */
  cookie: StoredCookie | null;
  onClose: () => void;
}

const RULES = rulesOf("StoredCookie");
const NEW = {
  name: "",
  value: "",
  path: String(RULES.path.default),
  expires: Number(RULES.expires.default),
  http_only: RULES.http_only.default === true,
  secure: RULES.secure.default === true,
  same_site: RULES.same_site.default as StoredCookie["same_site"],
};

/** A new cookie, or a new value for an existing one: when left empty, the stored value stays. */
export function CookieForm({ host, cookie, onClose }: CookieFormProps) {
  const { form, saving, props } = useApiForm({
    // What is stored is never shown, so that its field is empty.
    initial: { ...(cookie ?? { ...NEW, domain: host }), value: "" } satisfies StoredCookie,
    rules: RULES,
    bodyOf: (values) => ({ ...values, value: cookie && values.value === "" ? MASK : values.value }),
    send: (next) => {
      const own = cookieKey(cookie ?? next);
      return changeCookies(host, (now) => [...now.filter((one) => cookieKey(one) !== own), next]);
    },
    // The body is the whole list; the one that was changed is its last.
    fieldAt: (path) => path.replace(/^cookies\.\d+\./, ""),
    done: "The cookie was saved",
    failed: "The cookie was not saved",
    onDone: onClose,
  });
  const { expires } = form.values;
  return (
    <Modal opened onClose={onClose} title={cookie ? "Change a cookie" : "New cookie"} centered>
      <form {...props}>
        <Stack gap="sm">
          <TextInput
            label="Name"
            required
            readOnly={cookie !== null}
            data-autofocus={cookie === null || undefined}
            {...form.getInputProps("name")}
          />
          <PasswordInput
            label="Value"
            description={cookie ? "Leave empty to keep the stored value" : undefined}
            data-autofocus={cookie !== null || undefined}
            autoComplete="off"
            visibilityToggleButtonProps={{ "aria-label": "Show what you type" }}
            {...form.getInputProps("value")}
          />
          <TextInput
            label="Domain"
            description="A leading dot includes subdomains"
            required
            readOnly={cookie !== null}
            {...form.getInputProps("domain")}
          />
          <TextInput
            label="Path"
            required
            readOnly={cookie !== null}
            {...form.getInputProps("path")}
          />
          <Group grow align="flex-end">
            <TextInput
              label="Ends"
              description="Empty: when the browser closes"
              type="datetime-local"
              {...form.getInputProps("expires")}
              value={expires < 0 ? "" : momentText(expires * 1_000)}
              onChange={({ currentTarget: { value } }) =>
                form.setFieldValue(
                  "expires",
                  value === "" ? NEW.expires : Date.parse(value) / 1_000,
                )
              }
            />
            <NativeSelect
              label="SameSite"
              data={RULES.same_site.choices}
              {...form.getInputProps("same_site")}
            />
          </Group>
          <Group>
            <Checkbox label="Secure" {...form.getInputProps("secure", { type: "checkbox" })} />
            <Checkbox label="HttpOnly" {...form.getInputProps("http_only", { type: "checkbox" })} />
          </Group>
          <FormErrors
            error={saving.error}
            title="The cookie was not saved"
            fields={["cookies", ...Object.keys(NEW), "domain"]}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={saving.isPending}>
              Save cookie
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
