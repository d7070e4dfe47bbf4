import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { z } from "zod";
import { Minutes } from "../../../config/default-times.ts";
import { checkFilter } from "../../../storage/items/item-filter.ts";
import { JsonObject } from "../../../storage/records.ts";
import { describe } from "../../describe.ts";
import { servicesOf, type HttpApp, type HttpEnvironment } from "../../environment.ts";
import { respondJson } from "../../responses/wire.ts";
import { jsonBody, query, QueryFlag } from "../../validate.ts";

const wellFormed = z
  .string()
  .max(1_000)
  .refine((text) => text.isWellFormed() && !text.includes("\0"), {
    error: "expected a text without broken characters",
  });
const Labels = z.array(wellFormed).max(100);

const ItemPut = z.object({
  namespace: Labels,
  key: wellFormed.min(1),
  value: JsonObject,
  index: z
    .union([z.literal(false), z.array(z.string().max(1_000)).max(100)])
    .nullish()
    .describe("What a query looks at: nothing (false), or the texts at these paths; default all texts"),
  ttl: Minutes.nullish().describe("Minutes that the item stays after it was last written or read; default for ever"),
  keep_settings: z
    .boolean()
    .default(false)
    .describe("What is left out of index and ttl stays as the item that is there has it"),
});
const ItemQuery = z.object({
  namespace: z.string().max(100_000).optional().describe("Its labels, with dots between them"),
  key: wellFormed,
  refresh_ttl: QueryFlag.optional().describe("Whether the time of the item begins anew; default yes"),
});
const ItemDelete = z.object({ namespace: Labels.nullish(), key: wellFormed });
const ItemSearch = z.object({
  namespace_prefix: Labels.nullish(),
  filter: JsonObject.nullish().describe("Fields of the values, or operators below them such as $gt"),
  limit: z.number().int().min(1).max(1_000).nullish(),
  offset: z.number().int().min(0).nullish(),
  query: z
    .string()
    .max(10_000)
    .nullish()
    .describe("Words; what means the same (store.index), or holds most of them, comes first"),
  refresh_ttl: z.boolean().nullish(),
});
const NamespaceSearch = z.object({
  prefix: Labels.nullish().describe("Where * stands for any label"),
  suffix: Labels.nullish(),
  max_depth: z.number().int().min(1).nullish(),
  limit: z.number().int().min(1).max(1_000).nullish(),
  offset: z.number().int().min(0).nullish(),
});

const ItemShape = z
  .object({
    namespace: z.array(z.string()),
    key: z.string(),
    value: JsonObject,
    created_at: z.string(),
    updated_at: z.string(),
    ttl: z
      .number()
      .optional()
      .describe("The minutes that it stays after it was last written or read, if it has an end"),
    score: z
      .number()
      .optional()
      .describe("How near it is to the query in meaning, or the share of its words that stand in it"),
  })
  .meta({ ref: "Item" });
const settings = ["index", "ttl"] as const;
const tag = "Store";
const wrongLabel = { 422: "A label of the namespace is empty or holds a dot" };

/** `/store`: data that graphs and clients keep outside threads, by namespace and key. */
export function storeRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  itemRoutes(routes);
  searchRoutes(routes);
  return routes;
}

function itemRoutes(routes: HttpApp): void {
  routes.put(
    "/store/items",
    describe({ tag, summary: "Write an item", empty: true, errors: wrongLabel }),
    jsonBody(ItemPut),
    async (context) => {
      const { items } = servicesOf(context);
      const { namespace, key, value, index, ttl, keep_settings } = context.req.valid("json");
      if (namespace.length === 0) throw new HTTPException(400, { message: "Namespace is required" });
      checkLabels(namespace);
      const given = { index, ttl };
      const keeps = keep_settings ? settings.filter((name) => given[name] === undefined) : [];
      await items.change([{ namespace, key, value, index: index ?? undefined, ttl, keeps }]);
      return context.body(null, 204);
    },
  );

  routes.get(
    "/store/items",
    describe({ tag, summary: "Read an item; null where there is none", answer: ItemShape.nullable() }),
    query(ItemQuery),
    async (context) => {
      const { items } = servicesOf(context);
      const { namespace = "", key, refresh_ttl: refresh } = context.req.valid("query");
      const labels = namespace === "" ? [] : namespace.split(".");
      return respondJson(context, (await items.get(labels, key, refresh)) ?? null);
    },
  );

  routes.delete(
    "/store/items",
    describe({ tag, summary: "Delete an item, if it is there", empty: true, errors: wrongLabel }),
    jsonBody(ItemDelete),
    async (context) => {
      const { items } = servicesOf(context);
      const { namespace, key } = context.req.valid("json");
      checkLabels(namespace ?? []);
      await items.change([{ namespace: namespace ?? [], key, value: null }]);
      return context.body(null, 204);
    },
  );
}

function searchRoutes(routes: HttpApp): void {
  routes.post(
    "/store/items/search",
    describe({
      tag,
      summary: "Find items below a namespace, last changed first",
      answer: z.object({ items: z.array(ItemShape) }),
      errors: wrongLabel,
    }),
    jsonBody(ItemSearch),
    async (context) => {
      const { items } = servicesOf(context);
      const { namespace_prefix, filter, query: words, ...body } = context.req.valid("json");
      const prefix = namespace_prefix ?? [];
      checkLabels(prefix);
      if (filter) checkFilter(filter);
      const found = await items.search({
        prefix,
        filter: filter ?? undefined,
        query: words?.trim() ? words : undefined,
        limit: body.limit ?? 10,
        offset: body.offset ?? 0,
        refresh: body.refresh_ttl ?? undefined,
      });
      return respondJson(context, { items: found });
    },
  );

  routes.post(
    "/store/namespaces",
    describe({
      tag,
      summary: "List the namespaces that hold something",
      answer: z.object({ namespaces: z.array(z.array(z.string())) }),
      errors: wrongLabel,
    }),
    jsonBody(NamespaceSearch),
    async (context) => {
      const { items } = servicesOf(context);
      const body = context.req.valid("json");
      const { prefix, suffix } = { prefix: body.prefix ?? [], suffix: body.suffix ?? [] };
      for (const labels of [prefix, suffix]) checkLabels(labels);
      const namespaces = await items.namespaces({
        prefix,
        suffix,
        maxDepth: body.max_depth ?? undefined,
        limit: body.limit ?? 100,
        offset: body.offset ?? 0,
      });
      return context.json({ namespaces });
    },
  );
}

/** 422 for an invalid label: dots separate the labels of a namespace. */
function checkLabels(namespace: readonly string[]): void {
  if (namespace.every((label) => label !== "" && !label.includes("."))) return;
  throw new HTTPException(422, {
    message: `Namespace labels cannot be empty or contain periods. Received: ${namespace.join(".")}`,
  });
}
