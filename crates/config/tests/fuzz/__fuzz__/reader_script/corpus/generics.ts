type T = A<B<C, D<E>>>;
export default f<T>(<A>{ a: 1 } as B);
