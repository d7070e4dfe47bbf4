/** The variables that every identity about a project may use (PROMPT-19). */
export const circuitFacts = [
  "project_name",
  "circuit_file",
  "design_goals",
  "simulation_status",
  "user_preferences",
] as const;

/** The variables that an identity about documents may use besides. */
export const documentFacts = [...circuitFacts, "workspace_path"] as const;
