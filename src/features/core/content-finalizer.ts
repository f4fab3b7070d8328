/** The finalizer of every namespace, until the controller has emptied it. Its name is the same in both profiles. */
export const contentFinalizer = "kubernetes";
