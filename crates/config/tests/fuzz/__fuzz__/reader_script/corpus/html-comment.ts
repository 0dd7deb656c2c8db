<!-- ( 
export default {}
-->
