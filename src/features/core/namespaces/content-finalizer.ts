/** The finalizer of every namespace, which the controller removes when the namespace is empty. Its name is the same in both profiles. */
export const contentFinalizer = "kubernetes";
