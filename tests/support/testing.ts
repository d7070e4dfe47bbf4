export {
  ModelServer,
  refusingAddress,
  startModelServer,
  wireText,
  type ModelFault,
  type ModelRequest,
  type ModelServerOptions,
  type ModelStep,
  type ScriptedToolCall,
  type WireMessage,
} from "./model-server.ts";
export { startTestServer, type TestServer } from "./test-server.ts";
export { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "./workflow.ts";
