import {
  Button,
  Collapse,
  Group,
  NumberInput,
  Stack,
  Switch,
  Textarea,
  TextInput,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { Link } from "wouter";
import { FlotillaError } from "#shared/client/errors.ts";
import type { Recipe } from "#shared/protocol/schema/recipe.ts";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { call } from "../../lib/http.ts";
import { jobHref } from "../../lib/links.ts";
import { useChange } from "../../lib/query.ts";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { Builder, DEFAULT_TIMEOUT_S, TIMEOUT_PROPS } from "./builder.tsx";
import { changeHost, sameRecipe } from "./change-host.ts";
import { issuesBelow, messageAt, recordOf } from "./draft.ts";
import { type DraftState, useDraft } from "./use-draft.ts";

interface RecipeEditorProps {
  host: string;
  /** Null for a new one. */
  index: number | null;
  recipe: Recipe | null;
  onClose: () => void;
}

const RULES = rulesOf("Recipe");
const NEW = {
  pattern: RULES.pattern.default,
  description: RULES.description.default,
  actions: [],
  timeout_s: DEFAULT_TIMEOUT_S,
};

export function RecipeEditor({ host, index, recipe, onClose }: RecipeEditorProps) {
  // What it was when it was opened, to notice that somebody else has changed it in the meantime.
  const state = useDraft(recipe ?? NEW);
  const [read] = useState(recipe);
  const save = useChange(
    async () => {
      const next = recordOf(state.draft) as Recipe;
      const at = index === null ? ["body"] : ["body", "recipes", index];
      try {
        if (index === null)
          return await call("POST /hosts/{host}/recipes", { params: { host }, json: next });
        return await changeHost(host, (now) => {
          sameRecipe(now, index, read);
          return { recipes: now.recipes.with(index, next) };
        });
      } catch (err) {
        if (err instanceof FlotillaError) state.refuse(issuesBelow(err.issues, ...at));
        throw err;
      }
    },
    {
      done: "The recipe was saved",
      failed: "The recipe was not saved",
      quiet: true,
      onDone: onClose,
    },
  );
  return (
    <Builder
      host={host}
      title={index === null ? "New recipe" : `Recipe ${index + 1}`}
      state={state}
      error={save.error}
      head={<RecipeHead state={state} />}
      buttons={
        <>
          <Button size="xs" loading={save.isPending} onClick={() => save.mutate(undefined)}>
            Save recipe
          </Button>
          {state.changed ? (
            <ConfirmButton
              size="xs"
              question="Leave without saving?"
              text="Your changes will be lost."
              confirm="Leave"
              onConfirm={onClose}
            >
              Back to the list
            </ConfirmButton>
          ) : (
            <Button size="xs" variant="default" onClick={onClose}>
              Back to the list
            </Button>
          )}
        </>
      }
    />
  );
}

function RecipeHead({ state }: { state: DraftState }) {
  const { draft, issues, setHead } = state;
  const { head } = draft;
  const [more, { toggle }] = useDisclosure(Boolean(head.goal || head.code));
  const text = (name: string) => (typeof head[name] === "string" ? (head[name] as string) : "");
  const field = (name: string) => ({
    value: text(name),
    error: messageAt(issues, name),
    onChange: (event: { currentTarget: { value: string } }) =>
      setHead(name, event.currentTarget.value),
  });
  /** Empty is null. */
  const nullable = (name: string) => ({
    ...field(name),
    onChange: (event: { currentTarget: { value: string } }) =>
      setHead(name, event.currentTarget.value || null),
  });
  const job = text("created_from_job");
  return (
    <Stack gap="sm">
      <div className="recipe-head">
        <TextInput
          {...field("pattern")}
          label="Paths"
          description="Glob on the path: * any text, ? one character, {a,b}"
          styles={{ input: { fontFamily: "var(--mono)" } }}
        />
        <NumberInput
          label="Timeout (s)"
          description="For all steps"
          {...TIMEOUT_PROPS}
          value={typeof head.timeout_s === "number" ? head.timeout_s : ""}
          onChange={(value) => setHead("timeout_s", value === "" ? undefined : Number(value))}
          error={messageAt(issues, "timeout_s")}
        />
      </div>
      <TextInput {...field("description")} label="Description" />
      <Group gap="lg">
        <Switch
          label="Jobs use it"
          checked={head.enabled !== false}
          onChange={(event) => setHead("enabled", event.currentTarget.checked)}
        />
        <span className="recipe-origin">
          Written by {text("created_by") === "ai" ? "AI" : "an operator"}
          {job !== "" && (
            <>
              {" "}
              from <Link href={jobHref(job)}>job {job}</Link>
            </>
          )}
        </span>
        <Button size="compact-xs" variant="subtle" onClick={toggle} aria-expanded={more}>
          {more ? "Hide goal and code" : "Goal and code"}
        </Button>
      </Group>
      <Collapse expanded={more}>
        <Stack gap="sm">
          <Textarea
            {...nullable("goal")}
            label="Goal"
            description="In words; kept with the recipe, no job reads it yet"
            autosize
            minRows={2}
            maxRows={10}
          />
          <Textarea
            {...nullable("code")}
            label="Code"
            description="Kept with the recipe, no job runs it yet; page JavaScript belongs in an Evaluate step"
            autosize
            minRows={2}
            maxRows={16}
            styles={{ input: { fontFamily: "var(--mono)" } }}
          />
        </Stack>
      </Collapse>
    </Stack>
  );
}
