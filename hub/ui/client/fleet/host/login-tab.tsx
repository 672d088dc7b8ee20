import { Button, NumberInput, TextInput } from "@mantine/core";
import { useState } from "react";
import { FlotillaError } from "#shared/client/errors.ts";
import type { Host } from "#shared/protocol/schema/host.ts";
import { asWritten, call } from "../../lib/http.ts";
import { useChange } from "../../lib/query.ts";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { Empty } from "../../parts/states.tsx";
import { Builder, DEFAULT_TIMEOUT_S, TIMEOUT_PROPS } from "./builder.tsx";
import { changeHost } from "./change-host.ts";
import { issuesBelow, messageAt, recordOf } from "./draft.ts";
import { PLACEHOLDER } from "./recipe-fields.ts";
import { useDraft } from "./use-draft.ts";

/** The login recipe: run before a job's own recipe, unless somebody is logged in already. */
export function LoginTab({ host }: { host: Host }) {
  const [adding, setAdding] = useState(false);
  if (host.login_recipe === null && !adding)
    return (
      <Empty
        title="No login recipe"
        action={<Button onClick={() => setAdding(true)}>Write a login recipe</Button>}
      >
        Steps that log in before a job on this host continues. Secrets stay in the hub's
        environment; the steps refer to them as {PLACEHOLDER}.
      </Empty>
    );
  return <LoginEditor host={host} onRemoved={() => setAdding(false)} />;
}

function LoginEditor({ host, onRemoved }: { host: Host; onRemoved: () => void }) {
  const name = host.host;
  const state = useDraft(
    host.login_recipe ?? { logged_in: null, timeout_s: DEFAULT_TIMEOUT_S, actions: [] },
  );
  const { head } = state.draft;
  const save = useChange(
    async () => {
      try {
        return await call("PUT /hosts/{host}/login_recipe", {
          params: { host: name },
          json: asWritten(recordOf(state.draft)),
        });
      } catch (err) {
        if (err instanceof FlotillaError) state.refuse(issuesBelow(err.issues, "body"));
        throw err;
      }
    },
    { done: "The login recipe was saved", failed: "The login recipe was not saved", quiet: true },
  );
  const remove = useChange(() => changeHost(name, () => ({ login_recipe: null })), {
    done: "The login recipe was removed",
    failed: "The login recipe was not removed",
    onDone: onRemoved,
  });
  return (
    <Builder
      host={name}
      title="Login recipe"
      state={state}
      error={save.error}
      head={
        <div className="recipe-head">
          <TextInput
            label="Logged in"
            description="A selector that is there only when logged in: if it is there, the steps are skipped; if it is missing after them, the login has failed"
            value={typeof head.logged_in === "string" ? head.logged_in : ""}
            onChange={(event) => state.setHead("logged_in", event.currentTarget.value || null)}
            error={messageAt(state.issues, "logged_in")}
          />
          <NumberInput
            label="Timeout (s)"
            description="For all steps"
            {...TIMEOUT_PROPS}
            value={typeof head.timeout_s === "number" ? head.timeout_s : ""}
            onChange={(value) =>
              state.setHead("timeout_s", value === "" ? undefined : Number(value))
            }
            error={messageAt(state.issues, "timeout_s")}
          />
        </div>
      }
      buttons={
        <>
          <Button size="xs" loading={save.isPending} onClick={() => save.mutate(undefined)}>
            Save login recipe
          </Button>
          {host.login_recipe && (
            <ConfirmButton
              size="xs"
              color="red"
              variant="light"
              loading={remove.isPending}
              question="Remove the login recipe?"
              text="Jobs on this host no longer log in."
              confirm="Remove"
              onConfirm={() => remove.mutate(undefined)}
            >
              Remove login recipe
            </ConfirmButton>
          )}
        </>
      }
    />
  );
}
