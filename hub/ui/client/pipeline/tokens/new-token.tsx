import { Button, Group, Select, Stack, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import type { CreatedToken, Role } from "#shared/protocol/schema/token.ts";
import { ROLES } from "#shared/protocol/token-roles.ts";
import { call, login } from "../../lib/http.ts";
import { whoAmI } from "../../lib/logins.ts";
import { useChange } from "../../lib/query.ts";
import { FormErrors, issueAt } from "../../parts/form-errors.tsx";

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
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>(first ? "admin" : "viewer");
  const [lasts, setLasts] = useState("");
  const save = useChange(
    async () => {
      const was_open = whoAmI()?.open === true;
      const made = await call<CreatedToken>("POST", "/tokens", {
        json: { name, role, ...(lasts !== "" && { expires_in_s: Number(lasts) }) },
      });
      // Else the next call of this page would ask for what it shows only now.
      if (was_open) await login({ token: made.token });
      return made;
    },
    { failed: "The token was not created", onDone: onMade, quiet: true },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate(undefined);
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="sm">
        <TextInput
          label="Name"
          description="Whose it is: a person, a program, a machine"
          required
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={issueAt(save.error, "name")}
          data-autofocus
        />
        <Select
          label="Role"
          description={MAY[role]}
          inputWrapperOrder={["label", "input", "description", "error"]}
          data={ROLES}
          value={role}
          allowDeselect={false}
          onChange={(value) => setRole((value ?? "viewer") as Role)}
          error={issueAt(save.error, "role")}
        />
        <Select
          label="Valid"
          data={LASTS}
          value={lasts}
          allowDeselect={false}
          onChange={(value) => setLasts(value ?? "")}
          error={issueAt(save.error, "expires_in_s")}
        />
        <FormErrors
          error={save.error}
          title="The token was not created"
          fields={["name", "role", "expires_in_s"]}
        />
        <Group className="panel-end">
          <Button type="submit" disabled={name.trim() === ""} loading={save.isPending}>
            Create the token
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
