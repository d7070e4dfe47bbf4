/** What is loaded with the first call that has more to show than its words. */
export { SimulationFigure } from "../../circuits/curves/simulation-figure.tsx";
export { CalledTask } from "../../tasks/called-task.tsx";
