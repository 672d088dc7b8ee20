import { Button, Group, Select, Stack, TextInput } from "@mantine/core";
import type { CreatedToken, Role } from "#shared/protocol/schema/token.ts";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { useApiForm } from "../../forms/use-api-form.ts";
import { call, login } from "../../lib/http.ts";
import { whoAmI } from "../../lib/logins.ts";
import { FormErrors } from "../../parts/form-errors.tsx";

const RULES = rulesOf("CreateToken");

const MAY: Record<Role, string> = {
  viewer: "Looks at everything.",
  submitter: "Like a viewer, and also submits jobs and tasks and cancels jobs.",
  operator: "Like a submitter, and also controls browsers and changes hosts, profiles and queues.",
  admin:
    "Like an operator, and also runs commands on workers, names keys, and changes settings and tokens.",
};
const DAY_S = 86_400;
const LASTS = [
  { value: "", label: "until it is revoked" },
  { value: String(DAY_S), label: "a day" },
  { value: String(30 * DAY_S), label: "30 days" },
  { value: String(90 * DAY_S), label: "90 days" },
  { value: String(365 * DAY_S), label: "a year" },
];

/** `first`: with it the server closes, and this browser is to stay in. */
export function NewToken({
  first,
  onMade,
}: {
  first: boolean;
  onMade: (made: CreatedToken) => void;
}) {
  const { form, saving, props } = useApiForm({
    initial: { name: "", role: (first ? "admin" : "viewer") as Role, expires_in_s: "" },
    rules: RULES,
    bodyOf: ({ name, role, expires_in_s }) => ({
      name: name.trim(),
      role,
      ...(expires_in_s !== "" && { expires_in_s: Number(expires_in_s) }),
    }),
    send: async (json) => {
      const was_open = whoAmI()?.open === true;
      const made = await call("POST /tokens", { json });
      // Else the next call of this page would ask for what it shows only now.
      if (was_open) await login({ token: made.token });
      return made;
    },
    failed: "The token was not created",
    onDone: onMade,
  });
  const { name, role } = form.values;
  return (
    <form {...props}>
      <Stack gap="sm">
        <TextInput
          label="Name"
          description="Whose it is: a person, a program, a machine"
          required
          data-autofocus
          {...form.getInputProps("name")}
        />
        <Select
          label="Role"
          description={MAY[role]}
          inputWrapperOrder={["label", "input", "description", "error"]}
          data={RULES.role.choices}
          allowDeselect={false}
          {...form.getInputProps("role")}
        />
        <Select
          label="Valid"
          data={LASTS}
          allowDeselect={false}
          {...form.getInputProps("expires_in_s")}
        />
        <FormErrors
          error={saving.error}
          title="The token was not created"
          fields={["name", "role", "expires_in_s"]}
        />
        <Group className="panel-end">
          <Button type="submit" disabled={name.trim() === ""} loading={saving.isPending}>
            Create the token
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
