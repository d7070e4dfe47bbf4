import { defineToolkit } from "../../src/toolkits/toolkit.ts";
import { openMcp } from "./mcp-source.ts";
import { mcpServerRoutes } from "./routes/mcp-servers.ts";

/** Tools of MCP servers, which the operator lists in a file. */
export const mcp = defineToolkit({
  name: "mcp",
  title: { en: "MCP servers", zh: "MCP 服务器" },
  description: { en: "Brings the tools of other servers by MCP.", zh: "通过 MCP 提供其他服务器的工具。" },
  enabled: "always",
  open: openMcp,
  routes: [mcpServerRoutes],
});
