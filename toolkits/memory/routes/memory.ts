import { Hono } from "hono";
import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpContext, HttpEnvironment } from "@millrace/engine/http/environment";
import { respondJson } from "@millrace/engine/http/responses/wire";
import { jsonBody, path, query } from "@millrace/engine/http/validate";
import { routeServicesOf, toolsOfCaller } from "../../../src/toolkits/route-services.ts";
import { limits, Memory, MemoryChange, MemoryId, MemoryInput, MemoryKind, noMemory } from "../memories/memory.ts";
import { memoriesKey, memoryOwner } from "../memories/session-memories.ts";
import type { MemoryStore } from "../memories/memory-store.ts";

const MemoryPath = z.object({ memory_id: MemoryId });
const Wanted = z.object({
  kind: MemoryKind.optional(),
  query: z
    .string()
    .trim()
    .min(1)
    .max(1000)
    .optional()
    .describe("Orders by cosineSimilarity, and leaves out what is not near"),
});
const Listed = z.object({
  data: z.array(Memory),
  is_on: z.boolean().describe("Whether sessions are told of them, and may save some"),
  limits: z.object({ memories: z.number(), characters: z.number(), total: z.number() }),
});
const tag = "Memory";
const refused = { 403: "The key may not use memories, they are switched off, or the text holds a secret" };
const notThere = { ...refused, 404: "No such memory" };
const full = { 413: "The memory is full" };

/** `/api/memory`: the caller's memories. */
export function memoryRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  readingRoutes(routes);
  changingRoutes(routes);
  return routes;
}

/** The caller's memories. Existing ones can be read and deleted even if saving is off. */
function memoriesFor(context: HttpContext, saves = false): { store: MemoryStore; isOn: boolean } {
  const services = routeServicesOf(context);
  const memories = services.toolkitServices.find(memoriesKey);
  const isAllowed = toolsOfCaller(services)?.has("manage_memory") ?? true;
  if (memories === undefined || !isAllowed || (saves && !memories.isOn)) {
    throw new AppError("permission", "Memory is switched off here, or may not be used with this key.", {
      suggestion:
        "The operator switches it on with MILLRACE_MEMORY and MILLRACE_TOOLKITS, for a key with MILLRACE_OWNER_TOOLS.",
    });
  }
  const { user, owner } = services;
  return { store: memories.of(memoryOwner(user ?? (owner === "" ? null : owner))), isOn: memories.isOn };
}

function readingRoutes(routes: HttpApp): void {
  routes.get(
    "/api/memory",
    describe({ tag, summary: "What is kept of the caller, last changed first", answer: Listed, errors: refused }),
    query(Wanted),
    async (context) => {
      const { store, isOn } = memoriesFor(context);
      const { kind, query: words } = context.req.valid("query");
      const found = await (words === undefined ? store.list() : store.search(words, limits.memories));
      const data = found.filter((one) => kind === undefined || one.kind === kind);
      return respondJson(context, { data, is_on: isOn, limits });
    },
  );

  routes.get(
    "/api/memory/:memory_id",
    describe({ tag, summary: "One memory", answer: z.object({ data: Memory }), errors: notThere }),
    path(MemoryPath),
    async (context) => {
      const { memory_id } = context.req.valid("param");
      const memory = await memoriesFor(context).store.get(memory_id);
      if (memory === undefined) throw noMemory(memory_id);
      return context.json({ data: memory });
    },
  );
}

function changingRoutes(routes: HttpApp): void {
  routes.post(
    "/api/memory",
    describe({
      tag,
      summary: "Save a memory; one that says the same, or fills the same slot, is changed instead",
      answer: z.object({ data: Memory }),
      errors: { ...refused, ...full },
    }),
    jsonBody(MemoryInput),
    async (context) => {
      const { store } = memoriesFor(context, true);
      const { memory } = await store.save(context.req.valid("json"));
      return context.json({ data: memory });
    },
  );

  routes.patch(
    "/api/memory/:memory_id",
    describe({
      tag,
      summary: "Change a memory; what is not sent stays as it is",
      answer: z.object({ data: Memory }),
      errors: { ...notThere, ...full },
    }),
    path(MemoryPath),
    jsonBody(MemoryChange),
    async (context) => {
      const { store } = memoriesFor(context, true);
      const memory = await store.update(context.req.valid("param").memory_id, context.req.valid("json"));
      return context.json({ data: memory });
    },
  );

  routes.delete(
    "/api/memory/:memory_id",
    describe({ tag, summary: "Delete a memory", answer: z.object({ data: z.null() }), errors: notThere }),
    path(MemoryPath),
    async (context) => {
      const { memory_id } = context.req.valid("param");
      if (!(await memoriesFor(context).store.delete(memory_id))) throw noMemory(memory_id);
      return context.json({ data: null });
    },
  );

  routes.delete(
    "/api/memory",
    describe({
      tag,
      summary: "Delete everything that is kept of the caller",
      answer: z.object({ data: z.object({ deleted: z.number().int() }) }),
      errors: refused,
    }),
    async (context) => context.json({ data: { deleted: await memoriesFor(context).store.clear() } }),
  );
}
