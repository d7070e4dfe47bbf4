/** What users of the planner write for themselves alone. */
export const ownOfPlanner = [
  "POST /api/tasks",
  "POST /api/tasks/search",
  "PATCH /api/tasks/{task_id}",
  "DELETE /api/tasks/{task_id}",
  "POST /api/tasks/{task_id}/schedules",
  "DELETE /api/tasks/{task_id}/schedules/{schedule_id}",
];

/** Writes, by toolkit, of what all callers share: each with a body. Any of the toolkits may be missing. */
export const administeredOfToolkits: Record<string, Record<string, object | undefined>> = {
  "library-docs": {
    "DELETE /library-docs?name=library": undefined,
    "POST /library-docs": { name: "user/library" },
    "POST /library-docs/refresh": undefined,
    "PUT /library-docs/repository": { url: null },
  },
  mcp: {
    "DELETE /mcp/servers/{name}": undefined,
    "POST /mcp/servers/{name}/reconnect": undefined,
    "PUT /mcp/servers/{name}": { url: "http://127.0.0.1:1/mcp" },
  },
  shell: { "POST /external-tools/reload": undefined },
  web: { "DELETE /web-search/{engine}/key": undefined, "PUT /web-search/{engine}/key": { key: "x" } },
};

/** What users of the memory write for themselves alone. */
export const ownOfMemory = [
  "DELETE /api/memory",
  "DELETE /api/memory/{memory_id}",
  "PATCH /api/memory/{memory_id}",
  "POST /api/memory",
];

/** Requests, by toolkit, that only read, whose body is a question. */
export const readsOfToolkits: Record<string, readonly string[]> = { circuits: ["POST /circuits/parse"] };
