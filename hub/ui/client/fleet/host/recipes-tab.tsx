import { Badge, Button, Group, Stack, Text } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import type { Host } from "#shared/protocol/schema/host.ts";
import type { Recipe } from "#shared/protocol/schema/recipe.ts";
import { call, seg } from "../../lib/http.ts";
import { useChange } from "../../lib/query.ts";
import { countText } from "../../lib/units.ts";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Empty } from "../../parts/states.tsx";
import { Clip } from "../../parts/text.tsx";
import { changeHost, sameRecipe } from "./change-host.ts";
import { RecipeEditor } from "./recipe-editor.tsx";

interface RecipesTabProps {
  host: Host;
  /** Index of the recipe that is open, `new`, or empty. */
  opened: string;
  onOpen: (recipe: string) => void;
}

interface Row {
  index: number;
  recipe: Recipe;
}

const used = ({ enabled }: Recipe): boolean => enabled !== false;

/** The recipes of a host with the paths they are for; one of them, or a new one, in the builder. */
export function RecipesTab({ host, opened, onOpen }: RecipesTabProps) {
  const name = host.host;
  const remove = useChange(
    ({ index, recipe }: Row) =>
      call("GET /hosts/{host}", { params: { host: name } }).then((now) => {
        sameRecipe(now, index, recipe);
        return call("DELETE /hosts/{host}/recipes/{index}", { params: { host: name, index } });
      }),
    { done: "The recipe was deleted", failed: "The recipe was not deleted" },
  );
  const toggle = useChange(
    ({ index, recipe }: Row) =>
      changeHost(name, (now) => {
        sameRecipe(now, index, recipe);
        return { recipes: now.recipes.with(index, { ...recipe, enabled: !used(recipe) }) };
      }),
    {
      done: (_, { recipe }) =>
        used(recipe) ? "Jobs no longer use the recipe" : "Jobs use the recipe from now on",
      failed: "The recipe was not changed",
    },
  );
  const copy = useChange(
    ({ recipe }: Row) =>
      call("POST /hosts/{host}/recipes", {
        params: { host: name },
        json: { ...recipe, description: `Copy of ${recipe.description || recipe.pattern}` },
      }),
    { done: "The recipe was copied to the end of the list", failed: "The recipe was not copied" },
  );
  if (opened !== "") {
    const recipe = host.recipes[Number(opened)];
    if (opened === "new" || recipe)
      return (
        <RecipeEditor
          key={opened}
          host={name}
          index={opened === "new" ? null : Number(opened)}
          recipe={recipe ?? null}
          onClose={() => onOpen("")}
        />
      );
  }
  const columns: Column<Row>[] = [
    {
      key: "pattern",
      title: "Paths",
      width: "minmax(90px, 1.5fr)",
      cell: ({ recipe }) => <Clip text={recipe.pattern} mono />,
    },
    {
      key: "description",
      title: "Description",
      width: "minmax(120px, 2fr)",
      from: "sm",
      cell: ({ recipe }) => <Clip text={recipe.description} />,
    },
    {
      key: "steps",
      title: "Steps",
      width: "70px",
      align: "end",
      from: "sm",
      cell: ({ recipe }) => countText(recipe.actions.length),
    },
    {
      key: "timeout",
      title: "Timeout",
      width: "84px",
      align: "end",
      from: "md",
      cell: ({ recipe }) => `${recipe.timeout_s} s`,
    },
    {
      key: "by",
      title: "Written by",
      width: "100px",
      from: "md",
      cell: ({ recipe }) => recipe.created_by,
    },
    {
      key: "used",
      title: "State",
      width: "100px",
      from: "sm",
      cell: ({ recipe }) => (
        <Badge className="status" variant="light" color={used(recipe) ? "teal" : "gray"}>
          {used(recipe) ? "in use" : "not used"}
        </Badge>
      ),
    },
    {
      key: "actions",
      title: "",
      width: "240px",
      align: "end",
      cell: (row) => (
        <Group gap={6} wrap="nowrap" justify="flex-end">
          <Button
            size="compact-xs"
            variant="default"
            aria-label={`${used(row.recipe) ? "Switch off" : "Switch on"} recipe ${row.index + 1}`}
            loading={toggle.isPending && toggle.variables?.index === row.index}
            onClick={() => toggle.mutate(row)}
          >
            {used(row.recipe) ? "Switch off" : "Switch on"}
          </Button>
          <Button
            size="compact-xs"
            variant="default"
            aria-label={`Copy recipe ${row.index + 1}`}
            onClick={() => copy.mutate(row)}
          >
            Copy
          </Button>
          <ConfirmButton
            size="compact-xs"
            color="red"
            variant="light"
            aria-label={`Delete recipe ${row.index + 1}`}
            question="Delete this recipe?"
            text={
              <span className="wrap">{`It is for ${row.recipe.pattern} and has ${row.recipe.actions.length} steps.`}</span>
            }
            confirm="Delete"
            onConfirm={() => remove.mutate(row)}
          >
            Delete
          </ConfirmButton>
        </Group>
      ),
    },
  ];
  const add = (
    <Button leftSection={<IconPlus size={16} />} onClick={() => onOpen("new")}>
      New recipe
    </Button>
  );
  if (host.recipes.length === 0)
    return (
      <Empty
        title="No recipe yet"
        action={add}
        command={`curl -X POST ${location.origin}/hosts/${seg(name)}/recipes -H 'content-type: application/json' -d '{"pattern": "/gallery/*", "actions": [{"kind": "click", "selector": "#more"}]}'`}
      >
        A recipe is a list of steps that a job runs after its page has loaded: clicks, typing,
        scrolling.
      </Empty>
    );
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          Among the recipes in use whose pattern matches the URL's path, the one with the longest
          pattern runs.
        </Text>
        {add}
      </Group>
      <DataTable
        label="Recipes"
        columns={columns}
        rows={host.recipes.map((recipe, index) => ({ index, recipe }))}
        rowKey={({ index }) => String(index)}
        onOpen={({ index }) => onOpen(String(index))}
      />
    </Stack>
  );
}
